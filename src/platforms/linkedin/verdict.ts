import { at, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const { status } = response;
  const said = textAt(response.json, 'message');
  if (status === 400 || status === 413 || status === 422) return refused(said ?? `HTTP ${status}`, items);
  // The version in use has been retired. No conversion is to blame, and all of them can go once another one is set.
  if (status === 426)
    return { kind: 'unauthorized', reason: 'LinkedIn no longer serves this api_version: set a newer one' };
  const refusal = verdictOfStatus(response, reasonOf(response));
  if (refusal) return refusal;
  if (status === 201 && items === 1 && response.text.trim() === '') return { kind: 'delivered' };
  const elements = at(response.json, 'elements');
  if (!Array.isArray(elements) || elements.length !== items) return unreadable(response);
  return elements.map((element) => verdictOfElement(element, response));
}

function verdictOfElement(element: unknown, response: PlatformResponse): Verdict {
  const status = at(element, 'status');
  if (typeof status !== 'number') return unreadable(response);
  const message = textAt(element, 'error', 'message') ?? textAt(element, 'message');
  return verdictOfStatus({ ...response, status }, message) ?? { kind: 'delivered' };
}

/** One bad conversion makes LinkedIn refuse all of the call; mostly it says which. */
function refused(message: string, items: number): Verdict | readonly Verdict[] {
  const reasons = reasonsByIndex(message, items);
  if (items === 1) return { kind: 'rejected', reason: shorten(reasons.get(0) ?? message) };
  if (reasons.size === 0) return { kind: 'split', reason: shorten(message) };
  return Array.from({ length: items }, (_, index): Verdict => {
    const reason = reasons.get(index);
    return reason === undefined ? { kind: 'again' } : { kind: 'rejected', reason: shorten(reason) };
  });
}

/** `…, indices [0, 2] (0-indexed)` is about those; `Index: 1, ERROR :: …` goes on until the next one. */
function reasonsByIndex(message: string, items: number): Map<number, string> {
  const reasons = new Map<number, string>();
  const note = (index: number, reason: string) => {
    if (index < items && !reasons.has(index)) reasons.set(index, reason);
  };
  for (const [, list = ''] of message.matchAll(/\bindices \[([\d,\s]+)\]/g)) {
    for (const index of list.split(',')) if (index.trim() !== '') note(Number(index), message);
  }
  for (const [, index, reason = ''] of message.matchAll(/\bIndex: (\d+),?([\s\S]*?)(?=\bIndex: \d|$)/g)) {
    note(Number(index), reason);
  }
  return reasons;
}

function reasonOf({ json }: PlatformResponse): string | undefined {
  const said = [textAt(json, 'code'), textAt(json, 'message')].filter(Boolean);
  return said.length === 0 ? undefined : said.join(': ');
}
