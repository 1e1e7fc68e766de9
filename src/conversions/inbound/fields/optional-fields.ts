import { isIP } from 'node:net';
import { integerText } from '../../../http/strict-json.js';
import { SENDER_CLOCK_TOLERANCE_MS } from '../../../kernel/clock.js';
import { fitsCodePoints } from '../../../kernel/code-points.js';
import { COUNTRIES, readCountry } from '../../../kernel/codes/countries.js';
import { containsEmail } from '../../../kernel/email.js';
import { ownTrimmed } from '../../../kernel/own-text.js';
import { type Address, CONVERSION_SOURCES, type ConversionSource } from '../../../platforms/conversion.js';
import type { InboundField } from '../inbound-field.js';
import { clickIdsField } from './click-ids.js';
import { consentField } from './consent.js';
import { cookiesField } from './cookies.js';
import { readCountryName } from './country-names.js';
import { customField } from './custom.js';
import { addDigest, DIGEST_PATTERN, digestIn, hashedFields } from './hashed.js';
import { itemsField } from './items.js';
import { readTimeMs, SECONDS_MAX } from './occurred-at.js';
import { pageFields } from './page.js';
import { regionOf } from './regions.js';
import { NO_EMAIL_INSIDE, STORABLE } from './texts.js';
import { utmField } from './utm.js';

export const EXTERNAL_ID_MAX = 128;
const ADDRESS_MAX = 128;
const POSTAL_CODE_MAX = 32;
const USER_AGENT_MAX = 1_024;
const EVENT_ID_MAX = 100;

/** Always refused: the time of a conversion is never guessed from a clock that is wrong. */
export const TOO_FAR_AHEAD = `occurredAt must not be more than ${SENDER_CLOCK_TOLERANCE_MS / 60_000} minutes ahead`;

/** Fields beyond the specification. They are read after all others, and only if they were sent and are not empty. */
export const OPTIONAL_FIELDS: readonly InboundField[] = [
  {
    name: 'occurredAt',
    schema: {
      anyOf: [
        { type: 'string', format: 'date-time' },
        { type: 'number', minimum: 0, maximum: SECONDS_MAX },
      ],
      description: `When the conversion occurred: RFC 3339 with offset, or Unix seconds; at most ${SENDER_CLOCK_TOLERANCE_MS / 60_000} minutes ahead.`,
      example: '2026-03-01T11:15:30+01:00',
    },
    read: (sent, fields, { clock }) => {
      const timeMs = readTimeMs(sent);
      if (timeMs === undefined) return 'occurredAt must be an RFC 3339 time with offset, or Unix seconds';
      if (timeMs > clock.nowMs() + SENDER_CLOCK_TOLERANCE_MS) return TOO_FAR_AHEAD;
      fields.occurredAt = new Date(timeMs).toISOString();
    },
  },
  itemsField,
  {
    name: 'externalId',
    schema: {
      anyOf: [
        { type: 'string', minLength: 1, maxLength: EXTERNAL_ID_MAX, pattern: STORABLE },
        { type: 'integer', minimum: 0, exclusiveMaximum: 1e21 },
      ],
      description:
        'Your id of the customer. Personal: erased with the rest. Sent as a hash unless a connection states otherwise.',
      example: 'C-20817',
    },
    read: (sent, fields, { rawBody }) => {
      const id = typeof sent === 'number' ? integerText(sent, rawBody, 'externalId') : sent;
      const text = typeof id === 'string' ? ownTrimmed(id) : undefined;
      if (text === undefined || !fitsCodePoints(text, EXTERNAL_ID_MAX))
        return `externalId must be text of at most ${EXTERNAL_ID_MAX} characters`;
      if (text !== '') fields.externalId = text;
    },
  },
  addressField('city', ADDRESS_MAX, "City of the customer's address.", 'Berlin'),
  addressField('region', ADDRESS_MAX, 'State, province or region: its name or its code.', 'BE'),
  addressField('postalCode', POSTAL_CODE_MAX, 'Postal code.', '10115'),
  {
    name: 'country',
    schema: {
      type: 'string',
      anyOf: [{ enum: [...COUNTRIES] }, { pattern: DIGEST_PATTERN }],
      description:
        'ISO 3166 alpha-2 code, in any case. The alpha-3 code and names are read too, in English and in the language of the country. Also completes a phone number without a country code.',
      example: 'DE',
    },
    read: (sent, fields, { isStrict }) => {
      const digest = digestIn(sent);
      if (digest !== undefined) return addDigest(fields, 'country', digest);
      const country = typeof sent === 'string' ? (isStrict ? readCountry : readCountryName)(sent) : undefined;
      if (country === undefined) return 'country must be an ISO 3166 alpha-2 code';
      const { region } = fields.address ?? {};
      // The region was read before: what it means depends on the country.
      fields.address = { ...fields.address, ...(region && { region: regionOf(region, country) }), country };
    },
  },
  {
    name: 'source',
    schema: {
      type: 'string',
      enum: CONVERSION_SOURCES,
      description: 'Where the conversion happened.',
      example: 'website',
    },
    read: (sent, fields) => {
      if (!(CONVERSION_SOURCES as readonly unknown[]).includes(sent))
        return `source must be one of ${CONVERSION_SOURCES.join(', ')}`;
      fields.source = sent as ConversionSource;
    },
  },
  clickIdsField,
  {
    name: 'ipAddress',
    schema: {
      type: 'string',
      anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }],
      description: "The customer's IP address, never that of the sending server.",
      example: '203.0.113.10',
    },
    read: (sent, fields, { isStrict }) => {
      const text = typeof sent === 'string' ? ownTrimmed(sent) : undefined;
      if (text === '') return undefined;
      // Proxies add their own addresses behind the customer's.
      const isList = !isStrict && text?.includes(',') === true;
      const first = isList ? ownTrimmed(text.slice(0, text.indexOf(','))) : text;
      // A zone (`fe80::1%eth0`) has a meaning on one machine only.
      if (first === undefined || isIP(first) === 0 || first.includes('%'))
        return 'ipAddress must be an IPv4 or IPv6 address';
      // The form in which servers with both protocols see an IPv4 client.
      const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(first)?.[1];
      fields.ipAddress = mapped ?? first;
      return isList ? ['ipAddress has several addresses: the first is used'] : undefined;
    },
  },
  {
    name: 'userAgent',
    schema: {
      type: 'string',
      maxLength: USER_AGENT_MAX,
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
      allOf: [{ pattern: STORABLE }],
      description: "The User-Agent of the customer's browser, never that of the sending program.",
      example: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
    },
    read: (sent, fields) => {
      const text = typeof sent === 'string' ? ownTrimmed(sent) : undefined;
      if (text === undefined || !fitsCodePoints(text, USER_AGENT_MAX) || /\p{Cc}/u.test(text))
        return `userAgent must be text of at most ${USER_AGENT_MAX} characters on one line`;
      if (text !== '') fields.userAgent = text;
    },
  },
  {
    name: 'eventId',
    schema: {
      anyOf: [
        { type: 'string', minLength: 1, maxLength: EVENT_ID_MAX, pattern: STORABLE },
        { type: 'integer', minimum: 0, exclusiveMaximum: 1e21 },
      ],
      description:
        'The id that the browser pixel on the page reported for this event, so that platforms count it once. Not compared to find duplicates here. Without it, platforms get the order id.',
      example: 'evt-7c1f',
    },
    read: (sent, fields, { rawBody }) => {
      const id = typeof sent === 'number' ? integerText(sent, rawBody, 'eventId') : sent;
      // Without NFC: platforms compare it with what the page reported.
      const text = typeof id === 'string' ? ownTrimmed(id) : undefined;
      if (text === undefined || !fitsCodePoints(text, EVENT_ID_MAX)) return 'eventId must be 1 to 100 characters';
      if (text !== '') fields.eventId = text;
    },
  },
  consentField,
  ...pageFields,
  cookiesField,
  utmField,
  customField,
  ...hashedFields,
];

/** Stored plain, so an email address in it, for example of a shifted column, is an error. */
function addressField(
  name: Exclude<keyof Address, 'country'>,
  max: number,
  description: string,
  example: string,
): InboundField {
  return {
    name,
    schema: {
      type: 'string',
      anyOf: [{ maxLength: max, pattern: STORABLE, ...NO_EMAIL_INSIDE }, { pattern: DIGEST_PATTERN }],
      description,
      example,
    },
    read: (sent, fields) => {
      const digest = digestIn(sent);
      if (digest !== undefined) return addDigest(fields, name, digest);
      const text = typeof sent === 'string' ? ownTrimmed(sent).replace(/\s+/g, ' ') : undefined;
      if (text === undefined || !fitsCodePoints(text, max) || containsEmail(text))
        return `${name} must be text of at most ${max} characters without an email address`;
      if (text !== '') fields.address = { ...fields.address, [name]: text };
      return undefined;
    },
  };
}
