import type { PlatformResponse, Verdict } from '../../src/platforms/platform.js';

/** An answer as it is read from the wire: a text stands as it is, anything else as JSON, and nothing is an empty body. */
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

/** What a verdict about a whole call comes to: its kind, or why to try again; `each` for one about each conversion. */
export function inOneWord(verdict: AnyVerdict): string {
  if (!('kind' in verdict)) return 'each';
  return verdict.kind === 'retry' ? verdict.reason : verdict.kind;
}

/** A page of some proxy, an answer that broke off, and JSON that says nothing. */
const MEANINGLESS = ['', '<html><body>It works!</body></html>', '{"data":{"status', '[]', 'null', '"ok"', '7', '{}'];

/** Only the platform's own word is a success: a 200 with any of these bodies, or of those given, is tried again. */
export function itNeedsMoreThanA200(
  verdict: (response: PlatformResponse) => AnyVerdict | undefined,
  ...bodies: readonly unknown[]
): void {
  it.each([...MEANINGLESS, ...bodies])('does not take %j with a 200 for success', (body) => {
    expect(verdict(answer(200, body))).toEqual({ kind: 'retry', reason: 'server_error' });
  });
}
