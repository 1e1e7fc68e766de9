import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readBody } from '../http/read-body.js';
import { shippedNames } from '../platforms/defined/shipped.js';
import { PLATFORMS } from '../platforms/index.js';
import type { Platform } from '../platforms/platform.js';
import { jsonAnswer } from './answers.js';
import { Behaviours } from './behaviour.js';
import { controlAnswer, type SandboxState } from './control.js';
import { type Memory, type PlatformDouble, type SandboxRequest, sandboxRequest } from './double.js';
import { Ledger } from './ledger.js';
import { type ListingDouble, withListing } from './listings/listing.js';
import { faultOutcome, type Outcome, outcomeOf } from './outcome.js';
import { addressParts } from './sandbox-address.js';
import { type SignIn, withSignIn } from './sign-ins.js';

const HOST = '127.0.0.1';
const BODY_MAX_BYTES = 16 * 1024 * 1024;
const SHOWN_BODY_BYTES = 20_000;
const IDS_MAX = 300_000;
const KEEP_ALIVE_MS = 60_000;

/** In files that are named after the platform. */
export const DOUBLES: readonly PlatformDouble[] = await Promise.all(
  [...PLATFORMS, ...shippedNames().map((name) => ({ name }))].map(loadDouble),
);

async function loadDouble({ name, listAccount }: Pick<Platform, 'name' | 'listAccount'>): Promise<PlatformDouble> {
  const { double, signIn }: { double: PlatformDouble; signIn?: SignIn } = await import(`./doubles/${name}.js`);
  const { listing }: { listing?: ListingDouble } = listAccount ? await import(`./listings/${name}.js`) : {};
  return withSignIn(withListing(double, listing), signIn);
}

export interface SandboxOptions {
  /** The number of events remembered per platform and tenant; zero: counters only. */
  readonly idsMax?: number;
  readonly nowMs?: () => number;
}

export interface RunningSandbox {
  /** The base URL of a platform is this URL, a slash and its name, optionally followed by `@` and a tenant. */
  readonly url: string;
  /** Closes all open connections. */
  stop(): Promise<void>;
}

/** Doubles of all platforms in one server on the loopback interface. They check, answer and record requests, and fail on demand. */
export class Sandbox {
  readonly #doubles = new Map(DOUBLES.map((double) => [double.name, double]));
  readonly #behaviours = new Behaviours();
  readonly #ledger: Ledger;
  readonly #nowMs: () => number;
  readonly #memories = new Map<string, { platform: string; tenant: string; memory: Memory }>();
  readonly #state: SandboxState;

  constructor({ idsMax = IDS_MAX, nowMs = Date.now }: SandboxOptions = {}) {
    this.#ledger = new Ledger({ idsMax });
    this.#nowMs = nowMs;
    this.#state = {
      doubles: this.#doubles,
      ledger: this.#ledger,
      behaviours: this.#behaviours,
      memoryOf: (platform, tenant) => this.#memoryOf(platform, tenant),
      memories: () => this.#memories.values(),
    };
  }

  /** Port 0 selects a free port. */
  async start(port = 0): Promise<RunningSandbox> {
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      void this.#handle(request, response);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, HOST, resolve);
    });
    return {
      url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
      stop: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await readBody(incoming, BODY_MAX_BYTES);
    if (bytes === undefined) {
      response.shouldKeepAlive = false;
      return send(response, jsonAnswer(413, { ok: false, error: 'The body is larger than any platform accepts.' }));
    }
    const method = incoming.method ?? 'GET';
    const url = incoming.url ?? '/';
    const { platform, tenant, rest } = addressParts(url);
    const double = this.#doubles.get(platform);
    if (double === undefined) {
      const { path, query } = sandboxRequest(method, url);
      return send(response, controlAnswer(this.#state, method, path, query, bytes.toString()));
    }
    const request = sandboxRequest(method, rest, {
      headers: incoming.headers as Record<string, string | undefined>,
      body: bytes.toString(),
      nowMs: this.#nowMs(),
      tenant,
      memory: this.#memoryOf(platform, tenant),
    });
    const behaviour = this.#behaviours.take(platform, tenant, double.callKind?.(request) ?? 'events');
    const outcome = await outcomeOf(double, request, behaviour).catch(faultOutcome);
    if (outcome.recorded) this.#record(double, request, behaviour?.mode ?? 'ok', bytes, outcome);
    if (outcome.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, outcome.delayMs).unref());
    deliver(response, outcome);
  }

  #record(double: PlatformDouble, request: SandboxRequest, mode: string, bytes: Buffer, outcome: Outcome): void {
    const { method, path, query, headers, tenant, nowMs } = request;
    // Copy the shown part: a substring would keep the whole body in memory.
    const body = bytes.length > SHOWN_BODY_BYTES ? bytes.toString('utf8', 0, SHOWN_BODY_BYTES) : request.body;
    const status = outcome.sending === 'whole' || outcome.sending === 'half' ? outcome.status : undefined;
    this.#ledger.record(
      {
        ...{ atMs: nowMs, platform: double.name, tenant, mode, method, path, query, headers, body, status },
        received: outcome.received,
      },
      double.dedupWindowMs,
    );
  }

  #memoryOf(platform: string, tenant: string): Memory {
    const key = `${platform}@${tenant}`;
    let entry = this.#memories.get(key);
    if (entry === undefined) {
      entry = { platform, tenant, memory: new Map() };
      this.#memories.set(key, entry);
    }
    return entry.memory;
  }
}

function deliver(response: ServerResponse, outcome: Outcome): void {
  const { sending } = outcome;
  if (sending === 'whole') send(response, outcome);
  else if (sending === 'half') sendHalf(response, outcome);
  else if (sending === 'cut') response.socket?.destroy();
}

type Sendable = Pick<Outcome, 'status' | 'body'> & { readonly headers?: Readonly<Record<string, string>> };

function send(response: ServerResponse, { status, headers, body }: Sendable): void {
  // The client may have disconnected.
  if (response.destroyed) return;
  const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, { ...headers, ...length }).end(body);
}

/** Sends the headers and half of the announced body; for an empty body, half of the status line. */
function sendHalf(response: ServerResponse, { status, headers, body }: Outcome): void {
  const { socket } = response;
  if (socket === null) return;
  const bytes = Buffer.from(body as string);
  const disconnect = () => socket.destroy();
  if (bytes.length < 2) {
    socket.write(`HTTP/1.1 ${status}`, disconnect);
    return;
  }
  response.writeHead(status, { ...headers, 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length >> 1), disconnect);
}
