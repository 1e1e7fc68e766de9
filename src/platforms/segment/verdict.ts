import { at, shorten, splitOrReject, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/** Segment accepts nearly everything; RudderStack and Jitsu, which use the same protocol, report what they refuse. */
export function verdict(response: PlatformResponse, items: number): Verdict {
  const { status } = response;
  const message = messageOf(response);
  if (status === 400 || status === 413 || status === 422) return splitOrReject(message ?? `HTTP ${status}`, items);
  // The source is disabled. The conversion is valid and can be sent once the source is enabled again.
  if (status === 404 && message !== undefined && /disabled/i.test(message))
    return { kind: 'misconfigured', reason: shorten(message) };
  const refusal = verdictOfStatus(response, message);
  if (refusal) return refusal;
  return verdictOfBody(response, items);
}

/** RudderStack's `OK`, or an empty body with at most a line break. A long body of blanks is not an empty one. */
const ACCEPTED = /^\s{0,8}(?:ok|"ok")?\s{0,8}$/i;

/** Success is `{"success":true}` at Segment, `OK` at RudderStack and `{"ok":true}` at Jitsu, which also refuses with 200. */
function verdictOfBody(response: PlatformResponse, items: number): Verdict {
  const { json, text } = response;
  if (ACCEPTED.test(text)) return { kind: 'delivered' };
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return unreadable(response);
  if (at(json, 'ok') === false) {
    const reason = messageOf(response) ?? 'refused';
    // Jitsu's answer to an unknown write key.
    return /stream not found/i.test(reason)
      ? { kind: 'unauthorized', reason: shorten(reason) }
      : splitOrReject(reason, items);
  }
  const failed = at(json, 'success') === false || at(json, 'error') !== undefined || at(json, 'errors') !== undefined;
  return failed ? unreadable(response) : { kind: 'delivered' };
}

function messageOf({ json, text }: PlatformResponse): string | undefined {
  const error = textAt(json, 'error') ?? textAt(json, 'error', 'message') ?? textAt(json, 'errors', 0);
  const message = error ?? textAt(json, 'message') ?? textAt(json, 'msg');
  // RudderStack's errors are plain text.
  return message ?? (json === undefined && !text.trimStart().startsWith('<') && text.trim() !== '' ? text : undefined);
}
