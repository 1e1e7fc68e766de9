import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http, { type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Sealer } from '../../src/kernel/sealing.js';
import { readSettings } from '../../src/kernel/settings.js';
import type { StoredEvent } from '../../src/log/event.js';
import { EventLog } from '../../src/log/event-log.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { startService } from '../../src/service.js';
import type { Site, SiteKey } from '../../src/sites/site.js';
import { SiteDirectory } from '../../src/sites/site-directory.js';
import { SiteSecrets } from '../../src/sites/site-secrets.js';
import { Sites } from '../../src/sites/sites.js';
import { openDatabase } from './databases.js';

const SECRET_KEY = randomBytes(32).toString('hex');

/** An instance of the service in this process, on a port of its own. */
export interface TestService {
  readonly port: number;
  readonly app: NestFastifyApplication;
  /** Brings what it knows of the sites up to the log as it is now. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

export async function startTestService(
  databaseUrl: string,
  environment: Record<string, string> = {},
): Promise<TestService> {
  const given = { PORT: '0', LOG_LEVEL: 'warn', DATABASE_URL: databaseUrl, SECRET_KEY, ...environment };
  const { app } = await startService(readSettings(given));
  return {
    port: (app.getHttpServer().address() as AddressInfo).port,
    app,
    settle: () => app.get(SiteDirectory).refresh(),
    stop: () => app.close(),
  };
}

/** A site that takes conversions, with the key that it was given first. */
export interface OpenedSite {
  readonly host: string;
  readonly key: string;
  readonly keyId: string;
}

/** What an operator has in hand beside the service: the database, the log, and the verbs on sites. */
export interface Operator {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: Sites;
  /** A new site with inbound switched on; without a host it is given one that no other test has. */
  openSite(host?: string, aliases?: readonly string[]): Promise<OpenedSite>;
  issueKey(host: string, trial?: boolean): Promise<SiteKey & { key: string }>;
  set(host: string, flag: string, value: string): Promise<Site>;
  unset(host: string, ...what: string[]): Promise<Site>;
  /** The conversions of a site, in log order. */
  conversions(host: string): Promise<StoredEvent[]>;
  close(): Promise<void>;
}

export async function openOperator(databaseUrl: string): Promise<Operator> {
  const postgres = await openDatabase(databaseUrl);
  const log = new EventLog(postgres);
  const sealer = new Sealer(Buffer.from(SECRET_KEY, 'hex'));
  const sites = new Sites(log, new SiteSecrets(postgres.pool, sealer), 'cli');
  let made = 0;
  return {
    postgres,
    log,
    sites,
    async openSite(host, aliases = []) {
      made += 1;
      const site = await sites.register(host ?? `shop-${made}.example`, aliases);
      await sites.enableInbound(site.host);
      const { key, id } = await sites.issueKey(site.host, 'test', false);
      return { host: site.host, key, keyId: id };
    },
    issueKey: (host, trial = false) => sites.issueKey(host, 'another', trial),
    set: (host, flag, value) => sites.changeSettings(host, { set: [{ flag, value }], unset: [] }),
    unset: (host, ...what) => sites.changeSettings(host, { set: [], unset: what }),
    conversions: (host) => log.read({ nouns: ['conversion'], site: host }),
    async close() {
      await log.close();
      await postgres.close();
    },
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly type: string;
  readonly body: string;
}

export interface Request {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  readonly agent?: http.Agent | https.Agent;
  /** Over TLS, whoever signed the certificate. */
  readonly tls?: boolean;
  /** Where to connect to, in place of loopback. */
  readonly to?: string;
}

/** One request over a real socket. Nothing is added that is not said, except for Host, Connection and Content-Length. */
export function send(service: { readonly port: number }, request: Request): Promise<Reply> {
  const { method = 'GET', path = '/', headers = {}, body, agent, tls, to = '127.0.0.1' } = request;
  const options = { host: to, port: service.port, method, path, headers, ...(agent ? { agent } : {}) };
  return new Promise((resolve, reject) => {
    const sending = tls ? https.request({ ...options, rejectUnauthorized: false }) : http.request(options);
    sending.on('error', reject);
    sending.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({
          status: response.statusCode as number,
          headers: response.headers,
          type: response.headers['content-type'] ?? '',
          body: Buffer.concat(chunks).toString('utf8'),
        });
      });
    });
    sending.end(body);
  });
}

export const INBOUND = '/__cc/inbound';

/** A conversion as a sender posts it; what is said in `request` comes in addition, or instead. */
export function post(
  service: { readonly port: number },
  site: OpenedSite,
  body: unknown,
  request: Request = {},
): Promise<Reply> {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const headers = { Host: site.host, 'X-CC-Api-Key': site.key, 'Content-Type': 'application/json', ...request.headers };
  return send(service, { method: 'POST', path: INBOUND, ...request, body: text, headers: defined(headers) });
}

/** A header set to undefined is one not to send. */
function defined(headers: http.OutgoingHttpHeaders): http.OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

export function conversionId(reply: Reply): string {
  return reply.headers['x-cc-conversion-id'] as string;
}

/** A socket for bytes that no HTTP client would send. */
export interface RawSocket {
  readonly socket: Socket;
  write(bytes: string | Buffer): void;
  /** Everything received so far. */
  received(): string;
  /** Resolves with what was received once that matches. Rejects when the other side closes before. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with all that was received when the other side has closed, and after how long that was. */
  readonly closed: Promise<{ text: string; afterMs: number }>;
}

export async function openSocket(service: { readonly port: number }): Promise<RawSocket> {
  const socket = connect(service.port, '127.0.0.1');
  const began = performance.now();
  let text = '';
  socket.setEncoding('latin1');
  // Who sends nonsense may be cut off: what had been received by then still counts.
  socket.on('error', () => {});
  const closed = new Promise<{ text: string; afterMs: number }>((resolve) => {
    socket.on('close', () => resolve({ text, afterMs: performance.now() - began }));
  });
  socket.on('data', (chunk: string) => {
    text += chunk;
    socket.emit('more');
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    received: () => text,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!pattern.test(text)) return;
          socket.off('more', look);
          resolve(text);
        };
        socket.on('more', look);
        void closed.then(() => reject(new Error(`Closed after: ${JSON.stringify(text)}`)));
        look();
      }),
    closed,
  };
}

/** The bytes of a POST, for those who cut, repeat or bend them. */
export function rawPost(site: OpenedSite, body: string, headers: Record<string, string> = {}): string {
  const all = {
    Host: site.host,
    'X-CC-Api-Key': site.key,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${INBOUND} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** Asks until the answer is as wanted. Returns after how long; the last answer stands in the error if it never was. */
export async function eventually<Answer>(
  ask: () => Promise<Answer>,
  isWanted: (answer: Answer) => boolean,
  withinMs = 10_000,
): Promise<number> {
  const began = performance.now();
  for (;;) {
    const answer = await ask();
    const passedMs = performance.now() - began;
    if (isWanted(answer)) return passedMs;
    if (passedMs > withinMs) throw new Error(`Still ${JSON.stringify(answer)} after ${Math.round(passedMs)} ms`);
    await sleep(10);
  }
}

/** What the service logs, which goes to standard error, from now until `stop`. */
export function captureLog(): { text(): string; stop(): void } {
  const { write } = fs;
  const texts: string[] = [];
  // The logger writes to the file descriptor itself, so that is where its lines can be caught.
  fs.write = ((fd: number, data: string, ...rest: unknown[]) => {
    if (fd !== process.stderr.fd) return write(fd, data, ...(rest as []));
    texts.push(String(data));
    const done = rest.at(-1) as (error: null, bytes: number, data: string) => void;
    setImmediate(() => done(null, Buffer.byteLength(data), data));
  }) as typeof fs.write;
  return {
    text: () => texts.join(''),
    stop: () => {
      fs.write = write;
    },
  };
}
