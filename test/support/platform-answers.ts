import type { Platform, PlatformResponse, Verdict } from '../../src/platforms/platform.js';

/** An answer as the HTTP client returns it. A string is the body itself, anything else becomes JSON. */
export function answer(
  status: number,
  body: unknown = '',
  headers: PlatformResponse['headers'] = {},
): PlatformResponse {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers, text, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type AnyVerdict = Verdict | readonly Verdict[];

/** A verdict in short: its kind, for `retry` the reason, and `each` for one verdict per conversion. */
export function verdictLabel(verdict: AnyVerdict): string {
  if (!('kind' in verdict)) return 'each';
  return verdict.kind === 'retry' ? verdict.reason : verdict.kind;
}

/** Expects these labels for a request with one and with three conversions. */
export function expectVerdicts(platform: Platform, response: PlatformResponse, one: string, three: string): void {
  expect(verdictLabel(platform.verdict(response, 1))).toBe(one);
  expect(verdictLabel(platform.verdict(response, 3))).toBe(three);
}

/** A proxy's page, a truncated answer, and JSON without meaning. */
const UNREADABLE = ['', '<html><body>It works!</body></html>', '{"data":{"status', '[]', 'null', '"ok"', '7', '{}'];

/** A 200 counts as success only with the documented body: after one of these bodies the request is retried. */
export function itRetriesUnreadable200(
  verdict: (response: PlatformResponse) => AnyVerdict | undefined,
  ...bodies: readonly unknown[]
): void {
  it.each([...UNREADABLE, ...bodies])('does not treat a 200 with %j as success', (body) => {
    expect(verdict(answer(200, body))).toEqual({ kind: 'retry', reason: 'server_error' });
  });
}
