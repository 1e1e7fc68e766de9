import { at, joined, shorten, textAt, unreadable, verdictOfOne, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { refusedFields } from '../refused-fields.js';
import { isOtherMethod } from './errors.js';

/** `ERROR :: /user/externalIds/0 :: …`. Of `userIds`, an error does not say which one. */
const ERROR_PATH = /\bERROR :: (\S+)/g;
const EXTERNAL_IDS = /^\/user\/externalIds\b/;

export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const { status } = response;
  const message = textAt(response.json, 'message');
  if (status === 400 || status === 413 || status === 422) return refused(message ?? `HTTP ${status}`, items);
  // The API version was retired. The conversions are valid and can be sent once a newer version is set.
  if (status === 426)
    return { kind: 'misconfigured', reason: 'LinkedIn no longer serves this api_version: set a newer one' };
  const refusal = verdictOfStatus(response, reasonOf(response));
  if (refusal) return refusal;
  if (status === 201 && items === 1 && response.text.trim() === '') return { kind: 'delivered' };
  const elements = at(response.json, 'elements');
  if (!Array.isArray(elements) || elements.length !== items) return unreadable(response);
  return elements.map((element) => verdictOfElement(element, response));
}

/** The verdict on reading the ad accounts. A token that may only send conversions lacks the permission for it. */
export function accountsVerdict(response: PlatformResponse): Verdict | undefined {
  const { status, json } = response;
  if (status === 403) return undefined;
  if (status === 200) return Array.isArray(at(json, 'elements')) ? { kind: 'accepted' } : unreadable(response);
  return verdictOfOne(verdict(response, 1), response);
}

function verdictOfElement(element: unknown, response: PlatformResponse): Verdict {
  const status = at(element, 'status');
  if (typeof status !== 'number') return unreadable(response);
  const message = textAt(element, 'error', 'message') ?? textAt(element, 'message');
  const verdict = verdictOfStatus({ ...response, status }, message) ?? { kind: 'delivered' };
  return verdict.kind === 'rejected' ? refusal(verdict.reason) : verdict;
}

/** One invalid conversion makes LinkedIn refuse the whole request; the message usually names its index. */
function refused(message: string, items: number): Verdict | readonly Verdict[] {
  const reasons = reasonsByIndex(message, items);
  if (items === 1) return refusal(reasons.get(0) ?? message);
  if (reasons.size === 0) return { kind: 'split', reason: shorten(message) };
  return Array.from({ length: items }, (_, index): Verdict => {
    const reason = reasons.get(index);
    return reason === undefined ? { kind: 'resend' } : refusal(reason);
  });
}

/** A wrong conversion rule is a setting: the conversion is valid, and can be sent once it is fixed. */
function refusal(message: string): Verdict {
  const reason = shorten(message);
  if (isOtherMethod(message)) return { kind: 'misconfigured', reason };
  const paths = [...message.matchAll(ERROR_PATH)].map(([, path = '']) => path);
  return refusedFields(
    paths.map((path) => (EXTERNAL_IDS.test(path) ? 'externalId' : undefined)),
    reason,
  );
}

/** `…, indices [0, 2] (0-indexed)` concerns these indices; `Index: 1, ERROR :: …` extends to the next `Index:`. */
function reasonsByIndex(message: string, items: number): Map<number, string> {
  const reasons = new Map<number, string>();
  const add = (index: number, reason: string) => {
    if (index < items && !reasons.has(index)) reasons.set(index, reason);
  };
  for (const [, list = ''] of message.matchAll(/\bindices \[([\d,\s]+)\]/g)) {
    for (const index of list.split(',')) if (index.trim() !== '') add(Number(index), message);
  }
  for (const [, index, reason = ''] of message.matchAll(/\bIndex: (\d+),?([\s\S]*?)(?=\bIndex: \d|$)/g)) {
    add(Number(index), reason);
  }
  return reasons;
}

function reasonOf({ json }: PlatformResponse): string | undefined {
  return joined(textAt(json, 'code'), textAt(json, 'message'));
}
