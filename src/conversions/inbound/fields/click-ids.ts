import { integerText } from '../../../http/strict-json.js';
import { containsEmail } from '../../../kernel/email.js';
import { ownTrimmed } from '../../../kernel/own-text.js';
import { SENT_CLICK_IDS } from '../../../platforms/click-ids.js';
import type { SentClickIds } from '../../../platforms/conversion.js';
import type { SentClickId } from '../../../platforms/manifests.js';
import type { BodyReading, InboundField, InboundFields, ReadResult } from '../inbound-field.js';
import { PartProblems } from './parts.js';
import { fieldsOf, isAbsent, NO_EMAIL_INSIDE } from './texts.js';

export const CLICK_ID_MAX = 500;

/** Case and encoding are kept: platforms compare click ids exactly. No platform's id contains an `@`; an email address does. */
const CLICK_ID = new RegExp(`^[!-?A-~]{1,${CLICK_ID_MAX}}$`);

/** The cookies of Meta: version, number of domain labels, time in milliseconds, and the click id or a random number. */
export const META_COOKIE = /^fb\.\d\.\d{10,14}\.[^.\s].*$/;
const META_COOKIE_FORMAT = 'must have the format of the cookie, such as fb.1.1772350000000.1234567890';
/** Meta's id of a lead. */
const LEAD_ID = /^\d{15,17}$/;
const LEAD_ID_AS_NUMBER = { type: 'integer', minimum: 100_000_000_000_000, exclusiveMaximum: 1e17 };

const FORMATS: Readonly<Partial<Record<SentClickId, readonly [format: RegExp, problem: string]>>> = {
  fbc: [META_COOKIE, META_COOKIE_FORMAT],
  fbp: [META_COOKIE, META_COOKIE_FORMAT],
  lead_id: [LEAD_ID, 'must be 15 to 17 digits'],
};

const KNOWN: ReadonlySet<string> = new Set(SENT_CLICK_IDS);

/** `characters`: which a value may have. An empty one counts as absent. */
export function clickIdSchema(characters: string, format?: RegExp) {
  return {
    type: ['string', 'null'],
    maxLength: CLICK_ID_MAX,
    pattern: `^[${characters}]*$`,
    ...(format && { anyOf: [{ enum: [null, ''] }, { pattern: format.source }] }),
  };
}

export const clickIdsSchema = {
  type: 'object',
  description:
    'Click ids of the customer, with the names of the URL parameters; fbc and fbp are the values of the cookies _fbc and _fbp, lead_id is the id of a lead form of Meta.',
  properties: Object.fromEntries(
    SENT_CLICK_IDS.map((name) => {
      const [format] = FORMATS[name] ?? [];
      const text = { ...clickIdSchema('!-?A-~', format), ...NO_EMAIL_INSIDE };
      return [name, name === 'lead_id' ? { anyOf: [text, LEAD_ID_AS_NUMBER] } : text];
    }),
  ),
  additionalProperties: false,
  example: { gclid: 'Cj0KCQiA-1234567890', fbp: 'fb.1.1772350000000.1234567890' },
};

/** Ids of clicks of which one is enough to know a person by. What is not described may be, too: such as an encoded `@`. */
export const identifyingClickIds = {
  type: 'object',
  anyOf: SENT_CLICK_IDS.filter((name) => name !== 'fbp').map((name) => {
    const pattern = name === 'fbc' ? '^fb\\.1\\.[0-9]{13}\\.[A-Za-z0-9_-]{1,400}$' : FORMATS[name]?.[0].source;
    return {
      required: [name],
      properties: { [name]: { type: 'string', pattern: pattern ?? '^[A-Za-z0-9._-]{1,500}$' } },
    };
  }),
};

export const clickIdsField: InboundField = {
  name: 'clickIds',
  schema: clickIdsSchema,
  read: (sent, fields, reading) => readClickIds(sent, fields, reading),
};

/** Writes the click ids without empty ones. A message quotes no name that the sender chose. */
export function readClickIds(
  sent: unknown,
  fields: Pick<InboundFields, 'clickIds'>,
  reading: Pick<BodyReading, 'isStrict' | 'rawBody'>,
): ReadResult {
  const entries = fieldsOf(sent);
  if (!entries) return 'clickIds must be an object';
  const problems = new PartProblems(reading);
  const clickIds: Record<string, string> = {};
  for (const [name, id] of entries) {
    if (!KNOWN.has(name)) {
      if (problems.add(`clickIds must have no other names than ${SENT_CLICK_IDS.join(', ')}`)) break;
    } else if (!isAbsent(id)) {
      const isNumber = name === 'lead_id' && typeof id === 'number';
      const text = isNumber ? (integerText(id, reading.rawBody, 'clickIds', name) ?? '') : readClickId(id);
      const [format, problem] = FORMATS[name as SentClickId] ?? [];
      if (text === undefined) {
        if (problems.add(`clickIds.${name} must be 1 to ${CLICK_ID_MAX} visible ASCII characters without @`)) break;
      } else if (format && !format.test(text)) {
        if (problems.add(`clickIds.${name} ${problem}`)) break;
      } else clickIds[name] = text;
    }
  }
  if (Object.keys(clickIds).length > 0) fields.clickIds = clickIds;
  return problems.result();
}

/** A click id, or the value of a cookie; undefined if no platform has such. */
export function readClickId(sent: unknown): string | undefined {
  const text = typeof sent === 'string' ? ownTrimmed(sent) : '';
  return CLICK_ID.test(text) && !containsEmail(text) ? text : undefined;
}

/** Adds click ids that come from elsewhere in the request. What `clickIds` states takes precedence. */
export function addClickIds(fields: Pick<InboundFields, 'clickIds'>, found: SentClickIds): void {
  if (Object.keys(found).length > 0) fields.clickIds = { ...found, ...fields.clickIds };
}
