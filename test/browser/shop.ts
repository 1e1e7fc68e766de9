import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { type TagConfig, tagScript } from '../../src/tag/tag-script.js';

/** What the tag posted. */
export interface Post {
  readonly to: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the tag sent, looked into by the tests.
  readonly body: any;
  readonly text: string;
  readonly request: { url: string; headers: Record<string, unknown> };
}

const DOCUMENT = readFileSync('docs/tag.md', 'utf8');
/** The code that the document shows, in order: what owners of sites copy is what is tried. */
export const SHOWN = {
  html: blocksOf('html') as [snippet: string, ignoredForm: string, honeypot: string],
  js: blocksOf('js') as [identify: string, consent: string],
};
const SITES: Record<string, TagConfig> = {
  shop: { required: false, capture: true, days: 90 },
  strict: { required: true, capture: true, days: 90 },
  quiet: { required: false, capture: false, days: 90 },
};

/**
 * Shops with their pages on `<site>.localhost` and the tag on `track.<site>.localhost`, all on one loopback port. Browsers
 * take names below localhost to this machine and trust them like https.
 */
export class Shops {
  readonly posts: Post[] = [];
  readonly #pages = new Map<string, { html: string; headers: Record<string, string> }>();
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));
  /** What is answered to the next posts, instead of taking them. */
  readonly answers: number[] = [];
  refused = 0;

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
    return SHOWN.html[0].replace('https://track.shop.example', this.address('', `track.${site}`, top));
  }

  /** A page with the tag in its head; `before` stands above the snippet. */
  page(
    path: string,
    body = '',
    { before = '', site = 'shop', top = 'localhost', headers = {}, snippet = '' } = {},
  ): string {
    const head = `<meta charset="utf-8"><link rel="icon" href="data:,">${before}${snippet || this.snippet(site, top)}`;
    this.#pages.set(path, { html: `<!doctype html><html><head>${head}</head><body>${body}</body></html>`, headers });
    return this.address(path, site, top);
  }

  /** The posts to one endpoint, as soon as there are that many. */
  async posted(to: string, count = 1): Promise<Post[]> {
    const those = () => this.posts.filter((post) => post.to === to);
    for (let waits = 0; those().length < count; waits += 1) {
      if (waits > 600) {
        throw new Error(`${count} posts to ${to} did not come, only: ${JSON.stringify(this.posts, null, 1)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return those();
  }

  /** Whatever the page has set going so far has arrived: a hash takes a moment, and a later request overtakes none by much. */
  async settled(page: Page): Promise<void> {
    for (let round = 0; round < 3; round += 1) {
      await page.evaluate(async () => {
        if (crypto.subtle) await crypto.subtle.digest('SHA-256', new Uint8Array(64));
        await fetch('/fence', { method: 'POST' });
      });
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await textOf(request);
    const { pathname } = new URL(request.url as string, 'http://localhost');
    const [track, site] = (request.headers.host as string).split('.') as [string, string];
    if (pathname === '/fence') return void response.writeHead(204).end();
    if (track !== 'track') return this.#servePage(pathname, response);
    if (pathname === '/__cc/tag.js') {
      const script = tagScript(SITES[site] as TagConfig);
      response.writeHead(200, { 'content-type': 'text/javascript', etag: script.etag }).end(script.body);
      return;
    }
    const headers = { 'access-control-allow-origin': request.headers.origin ?? '*' };
    // A browser that asks first has been given a request that is not simple.
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const answer = this.answers.shift();
    if (answer) {
      this.refused += 1;
      return void response.writeHead(answer, headers).end();
    }
    const to = pathname.replace('/__cc/', '');
    this.posts.push({
      to,
      text,
      body: JSON.parse(text),
      request: { url: request.url as string, headers: request.headers },
    });
    response.writeHead(204, headers).end();
  }

  #servePage(path: string, response: ServerResponse): void {
    const page = this.#pages.get(path);
    response.writeHead(page ? 200 : 404, { 'content-type': 'text/html', ...page?.headers }).end(page?.html);
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function blocksOf(language: string): string[] {
  return [...DOCUMENT.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, code]) =>
    name === language ? [code as string] : [],
  );
}
