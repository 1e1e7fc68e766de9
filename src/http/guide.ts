import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { ANSWER_HEADERS } from './answer.js';
import { BuiltFiles, PAGE_HEADERS } from './built-files.js';

/** The same folder for the compiled service and for specs, which run the source. */
const BUILT = fileURLToPath(new URL('../../dist/guide', import.meta.url));
const PREFIX = '/docs/guide';

/** Serves the documentation site. */
export function serveGuide(server: FastifyInstance): void {
  const files = new BuiltFiles(BUILT);
  server.get(PREFIX, (_request, reply) => {
    // Relative, as all links of the site are: a proxy may serve it below another path.
    void reply.redirect('guide/');
  });
  server.get(`${PREFIX}/*`, (request, reply) => {
    const path = (request.url.split('?', 1)[0] as string).slice(`${PREFIX}/`.length);
    const file = files.get(path.replace(/(?<=^|\/)$/, 'index.html'));
    void reply.headers(PAGE_HEADERS);
    if (file) file.send(request, reply);
    else void reply.status(404).headers(ANSWER_HEADERS).type('text/plain; charset=utf-8').send('Not found.');
  });
}
