import { createGzip } from 'node:zlib';
import type { Behaviour } from './behaviour.js';
import { isFailure } from './behaviour.js';
import type { PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from './double.js';

const MEGABYTE = 1024 * 1024;
const HUGE_BYTES = 10 * MEGABYTE;
const BOMB_MEGABYTES = 128;
const HTML = '<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Something went wrong</h1></body></html>';

/** The answer to one request, and how it is sent. */
export interface Outcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly received: readonly ReceivedItem[];
  /** `half`: the connection is closed in the middle of the answer; `cut`: before the first byte; `never`: no answer. */
  readonly sending: 'whole' | 'half' | 'cut' | 'never';
  readonly delayMs: number;
  /** Whether the request is recorded in the ledger. */
  readonly recorded: boolean;
}

/** Answers as the platform would, or as the behaviour prescribes. */
export async function outcomeOf(
  double: PlatformDouble,
  request: SandboxRequest,
  behaviour: Behaviour | undefined,
): Promise<Outcome> {
  if (behaviour === undefined) return whole(double.answer(request));
  const { mode } = behaviour;
  if (isFailure(mode)) return whole(failure(double.fail(mode, request), behaviour));
  switch (mode) {
    case 'ok':
      return whole(double.answer(request));
    case 'slow':
      return { ...whole(double.answer(request)), delayMs: behaviour.ms ?? 0 };
    case 'half':
      return { ...whole(double.answer(request)), sending: 'half' };
    case 'drop':
      return { ...whole(double.answer(request)), sending: 'cut' };
    case 'drop_before':
      return { ...whole({ status: 0, body: '' }), sending: 'cut', recorded: false };
    case 'hang':
      return { ...whole({ status: 0, body: '' }), sending: 'never' };
    case 'html':
      return whole({ status: behaviour.status ?? 200, headers: { 'content-type': 'text/html' }, body: HTML });
    case 'truncated':
      return whole(truncated(double.answer(request)));
    case 'huge':
      return { ...whole(json('')), body: Buffer.alloc(HUGE_BYTES, ' ') };
    case 'gzip_bomb':
      return { ...whole(json('', { 'content-encoding': 'gzip' })), body: await gzipBomb() };
    case 'error_in_200':
      return whole({ ...double.fail('refuse', request), status: 200 });
    case 'redirect':
      return whole({ status: 302, headers: { location: redirectTarget(double, request) }, body: '' });
    case 'gone':
      return whole({ status: 410, body: '' });
  }
}

/** The answer when a double throws, which is a bug of the sandbox: a status that no platform uses, and a ledger entry. */
export function faultOutcome(error: unknown): Outcome {
  const message = `The sandbox itself failed: ${error instanceof Error ? error.message : String(error)}`;
  const received = [{ eventId: '', event: '', problems: [message], accepted: false, bodySha256: '' }];
  return whole({ ...json(JSON.stringify({ ok: false, error: message })), status: 599, received });
}

function whole(answer: SandboxAnswer): Outcome {
  const { status, headers = {}, body, received = [] } = answer;
  return { status, headers, body, received, sending: 'whole', delayMs: 0, recorded: true };
}

function json(body: string, headers: Readonly<Record<string, string>> = {}): SandboxAnswer {
  return { status: 200, headers: { 'content-type': 'application/json', ...headers }, body };
}

function failure(answer: SandboxAnswer, { mode, ms, status }: Behaviour): SandboxAnswer {
  if (mode === 'throttle' && ms !== undefined) {
    return { ...answer, headers: { ...answer.headers, 'retry-after': String(Math.ceil(ms / 1_000)) } };
  }
  return mode === 'server_error' && status !== undefined ? { ...answer, status } : answer;
}

/** The first half of the body; for an empty body, the start of a JSON object. */
function truncated({ body, received = [] }: SandboxAnswer): SandboxAnswer {
  return { ...json(body.slice(0, body.length >> 1) || '{'), received };
}

/** The same path for another tenant: a client that follows the redirect appears in the ledger. */
function redirectTarget(double: PlatformDouble, request: SandboxRequest): string {
  return `http://${request.headers['host']}/${double.name}@redirected${request.path}`;
}

let cachedBomb: Promise<Buffer> | undefined;

/** A few hundred kilobytes that decompress to more than a hundred megabytes. */
function gzipBomb(): Promise<Buffer> {
  cachedBomb ??= makeBomb();
  return cachedBomb;
}

async function makeBomb(): Promise<Buffer> {
  const gzip = createGzip();
  const chunks: Buffer[] = [];
  const whitespace = Buffer.alloc(MEGABYTE, ' ');
  const collecting = (async () => {
    for await (const chunk of gzip) chunks.push(chunk as Buffer);
  })();
  for (let written = 0; written < BOMB_MEGABYTES; written += 1) {
    if (!gzip.write(whitespace)) await new Promise((resolve) => gzip.once('drain', resolve));
  }
  gzip.end();
  await collecting;
  return Buffer.concat(chunks);
}
