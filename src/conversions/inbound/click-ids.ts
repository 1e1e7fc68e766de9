import { containsEmail } from '../../kernel/email.js';
import { ownTrimmed } from '../../kernel/own-text.js';
import { SENT_CLICK_IDS } from '../../platforms/click-ids.js';
import type { SentClickIds } from '../../platforms/conversion.js';

const LENGTH_MAX = 500;

/** Case and encoding are kept: platforms compare click ids exactly. No platform's id contains an `@`; an email address does. */
const CLICK_ID = new RegExp(`^[!-?A-~]{1,${LENGTH_MAX}}$`);

/** The cookies of Meta: version, number of domain labels, time in milliseconds, and the click id or a random number. */
const META_COOKIE = /^fb\.\d\.\d{10,14}\.[^.\s].*$/;

const KNOWN: ReadonlySet<string> = new Set(SENT_CLICK_IDS);

export const clickIdsSchema = {
  type: 'object',
  description:
    'Click ids of the customer, with the names of the URL parameters; fbc and fbp are the values of the cookies _fbc and _fbp.',
  properties: Object.fromEntries(
    SENT_CLICK_IDS.map((name) => [
      name,
      name === 'fbc' || name === 'fbp'
        ? { type: ['string', 'null'], maxLength: LENGTH_MAX, pattern: `^$|${META_COOKIE.source}` }
        : { type: ['string', 'null'], maxLength: LENGTH_MAX, pattern: '^[!-?A-~]*$' },
    ]),
  ),
  additionalProperties: false,
  example: { gclid: 'Cj0KCQiA-1234567890', fbp: 'fb.1.1772350000000.1234567890' },
};

/** The click ids without empty ones, or the error message. It quotes no name that the sender chose. */
export function readClickIds(sent: unknown): SentClickIds | string {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return 'clickIds must be an object';
  const clickIds: Record<string, string> = {};
  for (const [name, id] of Object.entries(sent)) {
    if (!KNOWN.has(name)) return `clickIds must have no other names than ${SENT_CLICK_IDS.join(', ')}`;
    if (id === null || id === '') continue;
    const text = typeof id === 'string' ? ownTrimmed(id) : '';
    if (!CLICK_ID.test(text) || containsEmail(text))
      return `clickIds.${name} must be 1 to ${LENGTH_MAX} visible ASCII characters without @`;
    if ((name === 'fbc' || name === 'fbp') && !META_COOKIE.test(text))
      return `clickIds.${name} must have the format of the cookie, such as fb.1.1772350000000.1234567890`;
    clickIds[name] = text;
  }
  return clickIds;
}
