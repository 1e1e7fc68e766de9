import { type Answer, failureAnswer, textAnswer } from '../../http/answer.js';
import type { MalformedBody } from '../../http/strict-json.js';
import type { SiteKey } from '../../sites/site.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import type { RequestTrace } from '../receive-conversion.command.js';
import type { RejectionReason } from '../rejection-reason.js';
import type { InboundOutcome } from './inbound-metrics.js';
import { INBOUND_PATH } from './inbound-route.js';

/** Long enough for a database failover, short enough that the conversion is not delayed much. */
const RETRY_AFTER = { 'Retry-After': '2' };

export type CountedAnswer = Answer & {
  readonly outcome?: InboundOutcome;
  /** Why the conversion of an authenticated sender was refused. */
  readonly rejection?: RejectionReason;
};

export interface Caller {
  readonly loadedSite: LoadedSite;
  readonly key: SiteKey;
  readonly trace?: RequestTrace;
}

export const HTTPS_REQUIRED: CountedAnswer = { ...textAnswer(403, 'HTTPS required'), outcome: 'malformed' };
export const NOT_FOUND: CountedAnswer = textAnswer(404, `Not found. Conversions are posted to ${INBOUND_PATH}.`);
export const NOT_ENABLED: CountedAnswer = { ...failureAnswer(403, 'Inbound webhook not enabled'), outcome: 'disabled' };
export const INVALID_KEY: CountedAnswer = { ...failureAnswer(401, 'Invalid API key'), outcome: 'unauthorized' };
export const NO_CONVERSION: CountedAnswer = failureAnswer(404, 'Conversion not found');
export const NOT_JSON: CountedAnswer = {
  ...textAnswer(415, 'Send the body as application/json in UTF-8, without Content-Encoding.'),
  outcome: 'malformed',
  rejection: 'content_type',
};
export const UNAVAILABLE_TEXT = 'Temporarily unavailable: send the conversion again';
export const UNAVAILABLE: CountedAnswer = {
  ...failureAnswer(503, UNAVAILABLE_TEXT, RETRY_AFTER),
  outcome: 'unavailable',
};
export const INTERNAL_ERROR_TEXT = 'Internal error: send the conversion again';
export const INTERNAL_ERROR: CountedAnswer = {
  ...failureAnswer(500, INTERNAL_ERROR_TEXT, RETRY_AFTER),
  outcome: 'unavailable',
};
export const NOT_A_BATCH: CountedAnswer = {
  ...textAnswer(415, 'Send the body as application/json or application/x-ndjson in UTF-8, without Content-Encoding.'),
  outcome: 'malformed',
  rejection: 'content_type',
};
export const TOO_MANY_BATCHES_TEXT = 'Too many batches at once: send this one again';
export const TOO_MANY_BATCHES: CountedAnswer = {
  ...failureAnswer(503, TOO_MANY_BATCHES_TEXT, RETRY_AFTER),
  outcome: 'unavailable',
};

export function methodNotAllowed(allow: string): CountedAnswer {
  return { ...textAnswer(405, `Use ${allow} here.`, { Allow: allow }), outcome: 'malformed' };
}

export function malformed({ message, kind }: MalformedBody): CountedAnswer {
  return { ...textAnswer(400, message), outcome: 'malformed', rejection: kind };
}

export function tooLarge(maxBytes: number, advice: string): CountedAnswer {
  const text = `The body is larger than ${maxBytes} bytes. ${advice}`;
  return { ...textAnswer(413, text), outcome: 'malformed', rejection: 'too_large' };
}

export function throttled(retryAfterS: number): CountedAnswer {
  const headers = { 'Retry-After': String(retryAfterS) };
  return { ...failureAnswer(429, 'Too many failed authentication attempts', headers), outcome: 'throttled' };
}
