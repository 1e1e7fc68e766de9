import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, Page } from 'playwright-core';
import { type TagConfig, tagScript } from '../../src/tag/tag-script.js';

/** A post of the tag that the service accepted. */
export interface Post {
  readonly endpoint: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect any field of the message.
  readonly body: any;
  readonly text: string;
  readonly request: { url: string; headers: Record<string, unknown> };
}

const DOCUMENT = readFileSync('docs/tag.md', 'utf8');
/** The code samples in docs/tag.md, in order: the tests run the same code that site owners copy. */
export const DOC_SAMPLES = {
  html: samplesIn('html') as [snippet: string, ignoredForm: string, honeypot: string],
  js: samplesIn('js') as [identify: string, consent: string],
};
const SITES: Record<string, TagConfig> = {
  shop: { required: false, capture: true, days: 90 },
  strict: { required: true, capture: true, days: 90 },
  quiet: { required: false, capture: false, days: 90 },
};
const TIMEOUT_MS = 60_000;

/** Packages that pages can import, as an import map of the browser. */
export const PACKAGES = Object.fromEntries(
  ['@iabtcf/cmpapi', '@iabtcf/core', '@iabgpp/cmpapi'].map((name) => [name, `/node_modules/${name}/lib/mjs/index.js`]),
);
const PACKAGE_FILE = /^\/node_modules\/@iab(tcf|gpp)\/[\w/-]+\.js$/;

/**
 * Serves shop pages on `<site>.localhost` and the tag on `track.<site>.localhost`, all on one loopback port. Browsers
 * resolve names below localhost to this machine and treat them as secure, like https.
 */
export class ShopServer {
  readonly posts: Post[] = [];
  /** Statuses to reject the next posts with. */
  readonly rejections: number[] = [];
  readonly #pages = new Map<string, { html: string; headers: Record<string, string> }>();
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));
  readonly #arrivals = new EventEmitter();
  #sentPosts = 0;
  #arrivedPosts = 0;

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  address(path: string, site = 'shop', top = 'localhost'): string {
    return `http://${site}.${top}:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  snippet(site = 'shop', top = 'localhost'): string {
    return DOC_SAMPLES.html[0].replace('https://track.shop.example', this.address('', `track.${site}`, top));
  }

  /** Adds a page with the tag in its head. `before` is inserted above the snippet. */
  page(
    path: string,
    body = '',
    { before = '', site = 'shop', top = 'localhost', headers = {}, snippet = '' } = {},
  ): string {
    const head = `<meta charset="utf-8"><link rel="icon" href="data:,">${before}${snippet || this.snippet(site, top)}`;
    this.#pages.set(path, { html: `<!doctype html><html><head>${head}</head><body>${body}</body></html>`, headers });
    return this.address(path, site, top);
  }

  /** Counts the posts that the browser sends, for `waitForIdle`. */
  watch(context: BrowserContext): void {
    context.on('request', (request) => {
      if (request.method() === 'POST' && request.url().includes('/__cc/')) this.#sentPosts += 1;
    });
  }

  /** Resolves with the posts to one endpoint as soon as there are `count` of them. */
  async waitForPosts(endpoint: string, count = 1): Promise<Post[]> {
    const matching = () => this.posts.filter((post) => post.endpoint === endpoint);
    await this.#until(() => matching().length >= count, `${count} posts to ${endpoint}`);
    return matching();
  }

  /**
   * Resolves when the tag has no work left and every post that the browser has sent has arrived. A post that is missing
   * then was not sent.
   */
  async waitForIdle(page: Page): Promise<void> {
    // The tag's longest chain is hash, timer, timer. Hashes and timers complete in the order in which they start.
    for (let step = 0; step < 3; step += 1) {
      await page.evaluate(async () => {
        if (crypto.subtle) await crypto.subtle.digest('SHA-256', new Uint8Array(64));
        await new Promise((resolve) => setTimeout(resolve));
      });
    }
    const sent = this.#sentPosts;
    await this.#until(() => this.#arrivedPosts >= sent, `${sent} posts sent by the browser`);
  }

  async #until(condition: () => boolean, expected: string): Promise<void> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    while (!condition()) {
      await once(this.#arrivals, 'post', { signal }).catch(() => {
        throw new Error(`Expected ${expected}, received only: ${JSON.stringify(this.posts, null, 1)}`);
      });
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await textOf(request);
    const { pathname } = new URL(request.url as string, 'http://localhost');
    const [track, site] = (request.headers.host as string).split('.') as [string, string];
    if (track !== 'track') return this.#servePage(pathname, response);
    if (pathname === '/__cc/tag.js') {
      const script = tagScript(SITES[site] as TagConfig);
      response.writeHead(200, { 'content-type': 'text/javascript', etag: script.etag }).end(script.body);
      return;
    }
    // The tag sends only simple requests. Reject a CORS preflight, so that a test notices it.
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const rejection = this.rejections.shift();
    if (!rejection) {
      const { url, headers } = request as { url: string; headers: Record<string, unknown> };
      const endpoint = pathname.replace('/__cc/', '');
      this.posts.push({ endpoint, text, body: JSON.parse(text), request: { url, headers } });
    }
    this.#arrivedPosts += 1;
    this.#arrivals.emit('post');
    const cors = {
      'access-control-allow-origin': request.headers.origin ?? '*',
      'access-control-allow-credentials': 'true',
    };
    response.writeHead(rejection ?? 204, cors).end();
  }

  #servePage(path: string, response: ServerResponse): void {
    if (PACKAGE_FILE.test(path)) {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(readFileSync(path.slice(1)));
      return;
    }
    const page = this.#pages.get(path);
    response.writeHead(page ? 200 : 404, { 'content-type': 'text/html', ...page?.headers }).end(page?.html);
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function samplesIn(language: string): string[] {
  return [...DOCUMENT.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, code]) =>
    name === language ? [code as string] : [],
  );
}
