import { type LooseEvent, loosely } from './loose-event.js';
import 'reflect-metadata';
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import fs from 'node:fs';
import http, { type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { startService } from '../../src/app/service.js';
import { Sealer } from '../../src/kernel/sealing.js';
import { readSettings } from '../../src/kernel/settings.js';
import type { EventLog } from '../../src/log/event-log.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import type { SiteKey } from '../../src/sites/site.js';
import { SiteDirectory } from '../../src/sites/site-directory.js';
import { SiteSecrets } from '../../src/sites/site-secrets.js';
import { Sites } from '../../src/sites/sites.js';
import { openDatabase } from './databases.js';
import type { TestServer } from './postgres-server.js';

const SECRET_KEY = randomBytes(32).toString('hex');

/** An instance of the service in this process, on a port of its own, and the connections that a test has to it. */
export interface TestService {
  readonly port: number;
  readonly agent: http.Agent;
  readonly tlsAgent: https.Agent;
  readonly sockets: Set<Socket>;
  /** Brings what it knows of the sites up to the log as it is now. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/** `environment` comes beside what every instance needs: a database, the key to its secrets, any free port. */
export async function startTestService(
  databaseUrl: string,
  environment: Record<string, string> = {},
): Promise<TestService> {
  const always = { PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: databaseUrl, SECRET_KEY };
  const { app } = await startService(readSettings({ ...always, ...environment }));
  const agent = new http.Agent({ keepAlive: true });
  const tlsAgent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });
  const sockets = new Set<Socket>();
  return {
    port: (app.getHttpServer().address() as AddressInfo).port,
    agent,
    tlsAgent,
    sockets,
    settle: () => app.get(SiteDirectory).refresh(),
    stop: async () => {
      agent.destroy();
      tlsAgent.destroy();
      for (const socket of sockets) socket.destroy();
      await app.close();
    },
  };
}

/** A site that takes conversions, and a key to it. */
export interface Door {
  readonly host: string;
  readonly key: string;
  readonly keyId: string;
}

/** What an operator has in hand beside the service: the database, the log, and the verbs on sites. */
export interface Operator {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: Sites;
  /** A new site with inbound switched on, whose host no other test has. */
  openSite(aliases?: readonly string[]): Promise<Door>;
  issueKey(host: string, kind?: 'live' | 'trial'): Promise<SiteKey & { key: string }>;
  set(host: string, flag: string, value: string): Promise<void>;
  unset(host: string, what: string): Promise<void>;
  /** The conversions of a site, in log order. */
  conversions(host: string): Promise<LooseEvent[]>;
  conversion(id: string): Promise<LooseEvent | undefined>;
  close(): Promise<void>;
}

export async function openOperator(databaseUrl: string): Promise<Operator> {
  const postgres = await openDatabase(databaseUrl);
  const log = new PostgresEventLog(postgres);
  const secrets = new SiteSecrets(postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
  const sites = new Sites(log, secrets, 'cli');
  let made = 0;
  return {
    postgres,
    log,
    sites,
    async openSite(aliases = []) {
      made += 1;
      const { host } = await sites.register(`shop-${made}.example`, aliases);
      await sites.enableInbound(host);
      const { key, id } = await sites.issueKey(host, 'test', false);
      return { host, key, keyId: id };
    },
    issueKey: (host, kind = 'live') => sites.issueKey(host, kind, kind === 'trial'),
    set: async (host, flag, value) => void (await sites.changeSettings(host, { set: [{ flag, value }], unset: [] })),
    unset: async (host, what) => void (await sites.changeSettings(host, { set: [], unset: [what] })),
    conversions: async (host) => loosely(await log.read({ categories: ['conversion'], site: host })),
    conversion: async (id) => loosely(await log.readStream('conversion', id))[0],
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

export interface Sending {
  readonly method?: string;
  readonly path?: string;
  /** One that is undefined is not sent. */
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  readonly tls?: boolean;
  /** The address to connect to, where it is not loopback. */
  readonly to?: string;
}

/** One request over a real socket. */
export function send(service: TestService, sending: Sending): Promise<Reply> {
  const { method = 'GET', path = '/', body, tls = false, to = '127.0.0.1' } = sending;
  const headers = Object.fromEntries(Object.entries(sending.headers ?? {}).filter(([, value]) => value !== undefined));
  const options = { host: to, port: service.port, method, path, headers };
  return new Promise((resolve, reject) => {
    const request = tls
      ? https.request({ ...options, agent: service.tlsAgent })
      : http.request({ ...options, agent: service.agent });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const status = response.statusCode as number;
        const type = response.headers['content-type'] ?? '';
        resolve({ status, headers: response.headers, type, body: Buffer.concat(chunks).toString('utf8') });
      });
    });
    request.end(body);
  });
}

export const INBOUND = '/__cc/inbound';

/** A conversion as a sender posts it; what `sending` says comes beside that, or instead. */
export function post(service: TestService, door: Door, body: unknown, sending: Sending = {}): Promise<Reply> {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const headers = { Host: door.host, 'X-CC-Api-Key': door.key, 'Content-Type': 'application/json', ...sending.headers };
  return send(service, { method: 'POST', path: INBOUND, body: text, ...sending, headers });
}

/** The question for a receipt, with the site's key. */
export function ask(service: TestService, door: Door, what: string, sending: Sending = {}): Promise<Reply> {
  const headers = { Host: door.host, 'X-CC-Api-Key': door.key, ...sending.headers };
  return send(service, { path: `${INBOUND}${what}`, ...sending, headers });
}

export function conversionId(reply: Reply): string {
  return reply.headers['x-cc-conversion-id'] as string;
}

/** A socket for bytes that no HTTP client would send. */
export interface RawSocket {
  readonly socket: Socket;
  write(bytes: string | Buffer): void;
  /** Resolves with all that was received as soon as it matches; rejects when the other side closes before that. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves when the other side has closed, with all that was received and how long that took. */
  readonly closed: Promise<{ readonly text: string; readonly afterMs: number }>;
}

export async function openSocket(service: TestService, over: 'tcp' | 'tls' = 'tcp'): Promise<RawSocket> {
  const address = { host: '127.0.0.1', port: service.port };
  const socket = over === 'tls' ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address);
  service.sockets.add(socket);
  const beganMs = performance.now();
  const looks = new Set<() => void>();
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    for (const look of looks) look();
  });
  // Whoever sends nonsense may be cut off; what had been received by then still counts.
  socket.on('error', () => {});
  const closed = new Promise<{ text: string; afterMs: number }>((resolve) => {
    socket.on('close', () => resolve({ text, afterMs: performance.now() - beganMs }));
  });
  await new Promise((resolve) => socket.once(over === 'tls' ? 'secureConnect' : 'connect', resolve));
  const until = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => pattern.test(text) && looks.delete(look) && resolve(text);
      looks.add(look);
      look();
      void closed.then(() => reject(new Error(`Closed without ${pattern}: ${JSON.stringify(text)}`)));
    });
  return { socket, write: (bytes) => void socket.write(bytes), until, closed };
}

/** The bytes of a POST, for those who cut, repeat or bend them. */
export function rawPost(door: Door, body: string, headers: Record<string, string | undefined> = {}): string {
  const all = {
    Host: door.host,
    'X-CC-Api-Key': door.key,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => (value === undefined ? '' : `${name}: ${value}\r\n`));
  return `POST ${INBOUND} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** A way to a server that can be cut like a cable. */
export interface Cable {
  /** The same database, by this way. */
  url(databaseUrl: string): string;
  /** Connections made until now hear nothing any more and are not told either; new ones are not concerned. */
  cut(): void;
  remove(): Promise<void>;
}

export async function layCable(server: TestServer): Promise<Cable> {
  const folder = fs.mkdtempSync(join(tmpdir(), 'cc-cable-'));
  const socketFile = '.s.PGSQL.5432';
  const ends = new Set<Socket>();
  const whole = new Set<Socket>();
  const listener = createServer((near) => {
    const far = connect(join(server.host, socketFile));
    whole.add(near);
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(end);
      end.on('error', () => {});
      end.on('data', (bytes) => whole.has(near) && other.write(bytes));
      end.on('close', () => whole.has(near) && other.destroy());
    }
  });
  await new Promise<void>((resolve) => listener.listen(join(folder, socketFile), resolve));
  return {
    url: (databaseUrl) => databaseUrl.replace(encodeURIComponent(server.host), encodeURIComponent(folder)),
    cut: () => whole.clear(),
    remove: async () => {
      for (const end of ends) end.destroy();
      await new Promise((resolve) => listener.close(resolve));
      fs.rmSync(folder, { recursive: true });
    },
  };
}

/** Asks again and again. Fails when a question put later than `withinMs` still has another answer than the wanted one. */
export async function eventually<Answer>(
  ask: () => Promise<Answer>,
  isWanted: (answer: Answer) => boolean,
  { withinMs = 20_000, everyMs = 20 } = {},
): Promise<Answer> {
  const beganMs = performance.now();
  for (;;) {
    const afterMs = performance.now() - beganMs;
    const answer = await ask();
    if (isWanted(answer)) return answer;
    if (afterMs > withinMs) throw new Error(`After ${Math.round(afterMs)} ms still ${JSON.stringify(answer)}`);
    await sleep(everyMs);
  }
}

/** Runs the tasks with a number of workers that each take the next one. Results come in the order of the tasks. */
export async function together<Task, Result>(
  workers: number,
  tasks: readonly Task[],
  work: (task: Task, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < tasks.length) {
      const index = next++;
      results[index] = await work(tasks[index] as Task, index);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return results;
}

/** What `/metrics` shows at one moment, by name with its labels. */
export async function metrics(service: TestService): Promise<Map<string, number>> {
  const { body } = await send(service, { path: '/metrics' });
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

/** What the services of this process log, which goes to standard error, from now until `stop`. */
export function captureLog(): { text(): string; stop(): void } {
  const { write } = fs;
  const texts: string[] = [];
  // The logger writes to the file descriptor itself: nearer to it nothing can be caught.
  fs.write = ((fd: number, data: string, ...rest: unknown[]) => {
    if (fd !== 2) return (write as (...all: unknown[]) => void)(fd, data, ...rest);
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

/** A self-signed certificate, valid for a day, and its key, both as PEM. */
export function makeCertificate(): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const der = (tag: number, ...parts: Buffer[]): Buffer => {
    const body = Buffer.concat(parts);
    const length = body.length < 0x80 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff];
    return Buffer.concat([Buffer.from([tag, ...length]), body]);
  };
  const time = (ms: number) => der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
  const ecdsaWithSha256 = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'));
  const commonName = Buffer.from('0603550403', 'hex');
  const name = der(0x30, der(0x31, der(0x30, commonName, der(0x0c, Buffer.from('localhost')))));
  const dayMs = 24 * 60 * 60 * 1_000;
  const validity = der(0x30, time(Date.now() - dayMs), time(Date.now() + dayMs));
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const serial = der(0x02, Buffer.from([1]));
  const body = der(0x30, serial, ecdsaWithSha256, name, validity, name, spki);
  const whole = der(0x30, body, ecdsaWithSha256, der(0x03, Buffer.from([0]), sign('sha256', body, privateKey)));
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}
