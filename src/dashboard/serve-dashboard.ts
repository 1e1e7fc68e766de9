import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The same folder for the compiled service and for specs, which run the source. */
const BUILT = fileURLToPath(new URL('../../dist/dashboard/browser', import.meta.url));
const PAGE = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface BuiltFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly etag: string;
  readonly cacheControl: string;
}

/**
 * Serves the built dashboard. Every path that is neither a file nor part of the API answers with the page, which shows what the
 * path names: an address can be opened, reloaded and shared.
 */
export function serveDashboard(server: FastifyInstance): void {
  const files = readBuiltFiles(BUILT);
  server.get('/*', (request, reply) => {
    const path = request.url.split('?', 1)[0] as string;
    const file = files.get(path.slice(1)) ?? (isPage(path) ? files.get(PAGE) : undefined);
    if (file) send(file, request, reply);
    else reply.callNotFound();
  });
}

/** The few files of the dashboard fit in memory, by their path in the folder. None if it is not built. */
export function readBuiltFiles(folder: string): ReadonlyMap<string, BuiltFile> {
  if (!existsSync(folder)) return new Map();
  const paths = readdirSync(folder, { recursive: true }).map((path) => String(path).replaceAll('\\', '/'));
  return new Map(paths.filter((path) => extname(path) in TYPES).map((path) => [path, readBuiltFile(folder, path)]));
}

function readBuiltFile(folder: string, path: string): BuiltFile {
  const plain = readFileSync(join(folder, path));
  return {
    type: TYPES[extname(path)] as string,
    plain,
    gzip: gzipSync(plain, { level: 9 }),
    etag: `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
    // The name of every other file contains a hash of its content.
    cacheControl: path === PAGE ? 'no-cache' : 'public, max-age=31536000, immutable',
  };
}

function isPage(path: string): boolean {
  return !/^\/(?:api|assets)(?:\/|$)/.test(path);
}

function send(file: BuiltFile, request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers({ 'cache-control': file.cacheControl, etag: file.etag, vary: 'accept-encoding' });
  if (request.headers['if-none-match'] === file.etag) {
    void reply.status(304).send();
    return;
  }
  const isGzip = /\bgzip\b/.test(String(request.headers['accept-encoding']));
  if (isGzip) void reply.header('content-encoding', 'gzip');
  void reply.type(file.type).send(isGzip ? file.gzip : file.plain);
}
