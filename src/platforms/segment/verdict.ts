import { at, refusedAsAWhole, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/** Segment takes nearly everything; RudderStack and Jitsu, which speak the same protocol, say what they do not take. */
export function verdict(response: PlatformResponse, items: number): Verdict {
  const { status } = response;
  if (status === 400 || status === 413 || status === 422)
    return refusedAsAWhole(said(response) ?? `HTTP ${status}`, items);
  // The source was switched off: nothing is wrong with the conversion, and it waits until that is mended.
  if (status === 404 && /disabled/i.test(said(response) ?? '')) return unauthorized(response);
  const refusal = verdictOfStatus(response, said(response));
  if (refusal) return refusal;
  return verdictOfBody(response, items);
}

/** `OK` of RudderStack, or nothing but a line break: pages of blanks are not nothing. */
const TAKEN = /^\s{0,8}(?:ok|"ok")?\s{0,8}$/i;

/** `{"success":true}` of Segment, `OK` of RudderStack, `{"ok":true}` of Jitsu, which refuses with a 200 as well. */
function verdictOfBody(response: PlatformResponse, items: number): Verdict {
  const { json, text } = response;
  if (TAKEN.test(text)) return { kind: 'delivered' };
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return unreadable(response);
  if (at(json, 'ok') === false) {
    const reason = said(response) ?? 'refused';
    return /stream not found/i.test(reason) ? unauthorized(response) : refusedAsAWhole(reason, items);
  }
  const failed = at(json, 'success') === false || at(json, 'error') !== undefined || at(json, 'errors') !== undefined;
  return failed ? unreadable(response) : { kind: 'delivered' };
}

function unauthorized(response: PlatformResponse): Verdict {
  return { kind: 'unauthorized', reason: shorten(said(response) ?? `HTTP ${response.status}`) };
}

function said({ json, text }: PlatformResponse): string | undefined {
  const error = textAt(json, 'error') ?? textAt(json, 'error', 'message') ?? textAt(json, 'errors', 0);
  const message = error ?? textAt(json, 'message') ?? textAt(json, 'msg');
  // RudderStack explains itself in plain text.
  return message ?? (json === undefined && !text.trimStart().startsWith('<') && text.trim() !== '' ? text : undefined);
}
