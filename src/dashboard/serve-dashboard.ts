import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { BuiltFiles } from '../http/built-files.js';

/** The same folder for the compiled service and for specs, which run the source. */
const BUILT = fileURLToPath(new URL('../../dist/dashboard/browser', import.meta.url));
const PAGE = 'index.html';

/**
 * Serves the built dashboard. Every path that is neither a file nor part of the API answers with the page, which shows what the
 * path names: an address can be opened, reloaded and shared.
 */
export function serveDashboard(server: FastifyInstance): void {
  const files = new BuiltFiles(BUILT);
  server.get('/*', (request, reply) => {
    const path = request.url.split('?', 1)[0] as string;
    const file = files.get(path.slice(1)) ?? (isPage(path) ? files.get(PAGE) : undefined);
    if (file) file.send(request, reply);
    else reply.callNotFound();
  });
}

function isPage(path: string): boolean {
  return !/^\/(?:api|assets)(?:\/|$)/.test(path);
}
