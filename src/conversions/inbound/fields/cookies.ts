import type { SentClickIds } from '../../../platforms/conversion.js';
import type { CookieKind, SentClickId } from '../../../platforms/manifests.js';
import type { InboundField } from '../inbound-field.js';
import { addClickIds, clickIdSchema, META_COOKIE, readClickId } from './click-ids.js';
import { PartProblems } from './parts.js';
import { fieldsOf, isAbsent, NO_EMAIL_INSIDE } from './texts.js';

interface Read {
  readonly cookies: Partial<Record<CookieKind, string>>;
  readonly clickIds: { -readonly [Name in keyof SentClickIds]: SentClickIds[Name] };
}

/** Stores a value of the cookie; returns whether the cookie has such a value. */
type Reader = (value: string, read: Read) => boolean;

const SESSION_COOKIE = /^_ga_[A-Z0-9]{1,32}$/;

/** GA1.<n>.<client id>, where the client id has two parts. */
const CLIENT = /^(?:GA\d\.[\d-]+\.)?(\d+\.\d+)$/;
/** GS1.1.<session>.… or GS2.1.s<session>$… */
const SESSION = /^GS\d\.\d\.s?(\d+)/;

const plain =
  (kind: CookieKind): Reader =>
  (value, { cookies }) => {
    cookies[kind] = value;
    return true;
  };
const click =
  (kind: SentClickId): Reader =>
  (value, { clickIds }) => {
    clickIds[kind] = value;
    return true;
  };

const READERS: Readonly<Record<string, Reader>> = {
  _ga: (value, { cookies }) => {
    const client = CLIENT.exec(value)?.[1];
    if (client !== undefined) cookies._ga = client;
    return client !== undefined;
  },
  _fbp: (value, read) => META_COOKIE.test(value) && plain('_fbp')(value, read),
  _fbc: (value, read) => META_COOKIE.test(value) && click('fbc')(value, read),
  _ttp: plain('_ttp'),
  _scid: plain('_scid'),
  // Accepted, because shops send all that they have, and not stored: no platform has a field for it.
  _pin_unauth: () => true,
  _epik: click('epik'),
  _rdt_uuid: plain('_rdt_uuid'),
  _uetmsclkid: (value, read) => click('msclkid')(value.replace(/^_uet/, ''), read),
  li_fat_id: click('li_fat_id'),
  // JSON with the click id, or only the click id
  _twclid: (value, read) => {
    const id = value.startsWith('{') ? readClickId(/"twclid":"([^"\\]+)"/.exec(value)?.[1]) : value;
    return id !== undefined && click('twclid')(id, read);
  },
};
export const COOKIE_NAMES = Object.keys(READERS);

/** Those that have one. */
const FORMATS: Readonly<Record<string, RegExp>> = {
  _ga: CLIENT,
  _fbp: META_COOKIE,
  _fbc: META_COOKIE,
  _twclid: /^[^{]|"twclid":"[A-Za-z0-9._-]+"/,
};

/** Without what is encoded: which of it can be decoded is not for a schema. */
function cookieSchema(format?: RegExp) {
  return { ...clickIdSchema('!-$&-?A-~', format), ...NO_EMAIL_INSIDE };
}

export const cookiesField: InboundField = {
  name: 'cookies',
  schema: {
    type: 'object',
    description: `Values of the cookies that the platforms' scripts set on the page: ${COOKIE_NAMES.join(', ')}, and _ga_<id> of Google Analytics.`,
    properties: Object.fromEntries(COOKIE_NAMES.map((name) => [name, cookieSchema(FORMATS[name])])),
    patternProperties: { [SESSION_COOKIE.source]: cookieSchema(SESSION) },
    additionalProperties: false,
    example: { _ga: 'GA1.1.1111111111.2222222222', _fbp: 'fb.1.1772350000000.1234567890' },
  },
  read: (sent, fields, reading) => {
    const entries = fieldsOf(sent);
    if (!entries) return 'cookies must be an object';
    const problems = new PartProblems(reading);
    const read: Read = { cookies: {}, clickIds: {} };
    for (const [name, value] of entries) {
      const isSession = SESSION_COOKIE.test(name);
      const reader = isSession ? readSession : Object.hasOwn(READERS, name) ? READERS[name] : undefined;
      if (!reader) {
        if (problems.add(`cookies must have no other names than ${COOKIE_NAMES.join(', ')} and _ga_<id>`)) break;
      } else if (!isAbsent(value)) {
        const text = readClickId(decoded(value));
        if (
          (text === undefined || !reader(text, read)) &&
          problems.add(`cookies.${isSession ? '_ga_' : name} ${FORMAT}`)
        )
          break;
      }
    }
    if (Object.keys(read.cookies).length > 0) fields.cookies = read.cookies;
    addClickIds(fields, read.clickIds);
    return problems.result();
  },
};

const FORMAT = 'must have the value of the cookie, of visible ASCII characters without @';

/** With several streams, the latest session. */
function readSession(value: string, { cookies }: Read): boolean {
  const session = SESSION.exec(value)?.[1];
  if (session !== undefined && !(Number(cookies._ga_session) > Number(session))) cookies._ga_session = session;
  return session !== undefined;
}

/** Browsers' scripts encode what they store. */
function decoded(value: unknown): unknown {
  if (typeof value !== 'string' || !value.includes('%')) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
