import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const TEXT = 'text/plain; charset=utf-8';
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.mjs': TEXT,
  '.mts': TEXT,
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.yml': TEXT,
};
/** The names of files in this folder contain a hash of their content. */
const HASHED = 'assets/';

/** Headers of pages for people. They load nothing from elsewhere, and nothing may frame them. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
} as const;

/**
 * The files of a folder that a build wrote, in memory from the start: a build or an upgrade beside the running service does not
 * change them, and no path of a request reaches the disk. None if it is not built.
 */
export class BuiltFiles {
  private readonly files: ReadonlyMap<string, BuiltFile>;

  constructor(folder: string) {
    const paths = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
    const files = paths.map((path) => String(path).replaceAll('\\', '/')).filter((path) => extname(path) in TYPES);
    this.files = new Map(files.map((path) => [path, new BuiltFile(path, readFileSync(join(folder, path)))]));
  }

  get(path: string): BuiltFile | undefined {
    return this.files.get(path);
  }
}

export class BuiltFile {
  private gzip: Buffer | undefined;
  private etag: string | undefined;

  constructor(
    private readonly path: string,
    private readonly plain: Buffer,
  ) {}

  send(request: FastifyRequest, reply: FastifyReply): void {
    this.etag ??= `"${createHash('sha256').update(this.plain).digest('base64url').slice(0, 22)}"`;
    const cacheControl = this.path.startsWith(HASHED) ? 'public, max-age=31536000, immutable' : 'no-cache';
    void reply.headers({ 'cache-control': cacheControl, etag: this.etag, vary: 'accept-encoding' });
    if (request.headers['if-none-match'] === this.etag) {
      void reply.status(304).send();
      return;
    }
    void reply.type(TYPES[extname(this.path)] as string);
    if (this.path.endsWith('.png') || !/\bgzip\b/.test(String(request.headers['accept-encoding']))) {
      void reply.send(this.plain);
      return;
    }
    this.gzip ??= gzipSync(this.plain, { level: 9 });
    void reply.header('content-encoding', 'gzip').send(this.gzip);
  }
}
