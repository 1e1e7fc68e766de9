import { at, joined, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/**
 * Google Analytics answers 2xx to everything, even with a wrong secret, and never reports whether an event counts. Only
 * a web page is treated as the answer of another server, because Google Analytics would count every retry.
 */
export function verdict(response: PlatformResponse): Verdict {
  const refusal = verdictOfStatus(response);
  if (refusal) return refusal;
  return response.text.trimStart().startsWith('<') ? unreadable(response) : { kind: 'accepted' };
}

export function validationVerdict(response: PlatformResponse): Verdict {
  const refusal = verdictOfStatus(response);
  if (refusal) return refusal;
  const messages = at(response.json, 'validationMessages');
  if (!Array.isArray(messages)) return unreadable(response);
  if (messages.length === 0) return { kind: 'accepted' };
  const reason = joined(textAt(messages, 0, 'validationCode'), textAt(messages, 0, 'description'));
  return { kind: 'rejected', reason: shorten(reason ?? '') || 'not valid' };
}
