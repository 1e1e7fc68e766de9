import { at, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/**
 * Google Analytics says 2xx to everything, a wrong secret included: whether it counts is never known. Nothing but a web
 * page is taken for somebody else's answer, since each repeat would be counted as well.
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
  const said = [textAt(messages, 0, 'validationCode'), textAt(messages, 0, 'description')];
  return { kind: 'rejected', reason: shorten(said.filter(Boolean).join(': ')) || 'not valid' };
}
