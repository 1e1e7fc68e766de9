import {
  FAILURE_KINDS,
  type FailureKind,
  type Memory,
  type PlatformDouble,
  type SandboxAnswer,
  type SandboxRequest,
  sandboxRequest,
} from '../../src/sandbox/double.js';

export const NOW_MS = Date.parse('2026-03-01T10:16:00Z');
/** A SHA-256 of an email address. */
export const HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';

/** A valid `custom_data` of Meta, whose format Snapchat shares. */
export const CUSTOM_DATA = {
  currency: 'EUR',
  value: 129.9,
  order_id: 'ORD-1001',
  content_ids: ['SKU-1'],
  contents: [{ id: 'SKU-1', quantity: 1, item_price: 129.9 }],
  num_items: 1,
};

export function bodyOf(answer: SandboxAnswer) {
  return JSON.parse(answer.body);
}

/** The problems that a double recorded, for each conversion of the request. */
export function problemsIn(answer: SandboxAnswer) {
  return answer.received?.map((item) => item.problems);
}

/** Whether each conversion of the request was accepted. */
export function acceptedIn(answer: SandboxAnswer) {
  return answer.received?.map((item) => item.accepted);
}

export interface RequestOptions {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly memory?: Memory;
}

/** Builds a function that posts JSON at `NOW_MS`; a string is the body itself. */
export function poster(url: string, headers: RequestOptions['headers'] = {}) {
  return (body: unknown, options: RequestOptions = {}): SandboxRequest =>
    sandboxRequest(options.method ?? 'POST', options.url ?? url, {
      headers: { 'content-type': 'application/json', ...headers, ...options.headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      nowMs: NOW_MS,
      memory: options.memory ?? new Map(),
    });
}

/** Expects these statuses of a double's failures; `more` makes further assertions. */
export function itFailsOnDemand(
  double: PlatformDouble,
  request: SandboxRequest,
  statuses: Readonly<Record<FailureKind, number>>,
  more: (kind: FailureKind, answer: SandboxAnswer) => void = () => {},
): void {
  it.each(FAILURE_KINDS)('fails on demand: %s', (kind) => {
    const answer = double.fail(kind, request);
    expect(answer.status).toBe(statuses[kind]);
    more(kind, answer);
  });
}

/** Posts a form to the token endpoint of a double. */
export function requestToken(
  double: PlatformDouble,
  path: string,
  fields: Readonly<Record<string, string>>,
  memory: Memory = new Map(),
) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(fields).toString();
  const answer = double.answer(sandboxRequest('POST', path, { headers, body, memory }));
  return { status: answer.status, json: bodyOf(answer) };
}
