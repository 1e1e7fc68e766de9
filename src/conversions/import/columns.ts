import { containsEmail } from '../../kernel/email.js';
import { UserError } from '../../kernel/errors.js';
import { SENT_CLICK_IDS } from '../../platforms/click-ids.js';
import { CONSENT_FIELDS } from '../../platforms/conversion.js';
import { COOKIE_NAMES } from '../inbound/fields/cookies.js';
import { HASHED_NAMES } from '../inbound/fields/hashed.js';
import { UTM_FIELDS } from '../inbound/fields/utm.js';

const PLAIN_FIELDS = [
  'email',
  'hashed_email',
  'event',
  'value',
  'currency',
  'orderId',
  'firstName',
  'lastName',
  'phone',
  'occurredAt',
  'items',
  'externalId',
  'city',
  'region',
  'postalCode',
  'country',
  'source',
  'ipAddress',
  'userAgent',
  'eventId',
  'pageUrl',
  'referrer',
  ...HASHED_NAMES,
] as const;

/** What a column of a file can hold: a field of the endpoint, or a part of one. Besides these there are `custom.<key>`. */
export const IMPORT_FIELDS: readonly string[] = [
  ...PLAIN_FIELDS,
  ...SENT_CLICK_IDS.map((name) => `clickIds.${name}`),
  ...CONSENT_FIELDS.map((name) => `consent.${name}`),
  ...COOKIE_NAMES.map((name) => `cookies.${name}`),
  ...UTM_FIELDS.map((name) => `utm.${name}`),
];
const FREE_FIELD = /^(custom\..+|cookies\._ga_[A-Z0-9]+)$/;

/** Whether a column can hold it. */
export function isImportField(field: string): boolean {
  return IMPORT_FIELDS.includes(field) || FREE_FIELD.test(field);
}

/** Other headers that mean one field and nothing else, without case, spaces and punctuation. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  email: ['emailaddress'],
  hashed_email: ['emailsha256', 'sha256email'],
  event: ['eventname', 'conversionname'],
  value: ['conversionvalue'],
  currency: ['currencycode', 'conversioncurrency'],
  orderId: ['ordernumber', 'orderno', 'transactionid'],
  firstName: ['givenname'],
  lastName: ['surname', 'familyname'],
  phone: ['phonenumber', 'telephone'],
  occurredAt: ['conversiontime'],
  externalId: ['customerid'],
  postalCode: ['postcode', 'zip', 'zipcode'],
  country: ['countrycode'],
  'clickIds.gclid': ['googleclickid'],
};

/** The column that a file of rejected lines has beside those of the original. Ignored when that file is imported. */
export const REASON_COLUMN = 'rejected_reason';
export const COLUMNS_MAX = 1_000;

const EMAILS: readonly string[] = ['email', 'hashed_email'];
/** By which a person without an email can be known. */
const OTHERS = /^(?:phone|hashed_phone|externalId|pageUrl|clickIds\..+|cookies\..+)$/;

export interface Column {
  readonly field: string;
  /** -1 if the file has no such column, and every line gets the default. */
  readonly index: number;
}

const FIELD_BY_HEADER = new Map<string, string>();
for (const field of IMPORT_FIELDS) {
  FIELD_BY_HEADER.set(comparable(field), field);
  // The name of a cookie may be that of a click id.
  const [, part] = /^(?:clickIds|consent)\.(.+)$/.exec(field) ?? [];
  if (part !== undefined) FIELD_BY_HEADER.set(comparable(part), field);
  for (const alias of ALIASES[field] ?? []) FIELD_BY_HEADER.set(alias, field);
}

/** Spreadsheets and people change case, spaces and underscores of a header. */
function comparable(header: string): string {
  return header.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** The field that a header means by itself. Keys of custom values and names of cookies are compared exactly. */
function fieldOf(header: string): string | undefined {
  const name = header.trim();
  return FREE_FIELD.test(name) ? name : FIELD_BY_HEADER.get(comparable(name));
}

/**
 * Which column holds which field. `map` has the headers of fields as the operator states them; an empty one leaves the field out.
 * Fields of `defaults` need no column. `withoutEmail`: the site knows people by a phone, an external id or a click id, too.
 */
export function readColumns(
  header: readonly string[],
  map: ReadonlyMap<string, string>,
  defaults: ReadonlyMap<string, string>,
  withoutEmail = false,
): Column[] {
  if (header.length > COLUMNS_MAX)
    throw new UserError(`The header has ${header.length} columns. At most ${COLUMNS_MAX} are accepted.`);
  const columns = new Map<string, number>();
  for (const [field, theirs] of map) if (theirs !== '') columns.set(field, indexOf(header, theirs, field));
  const mapped = new Set(columns.values());
  for (const [index, name] of header.entries()) {
    const field = fieldOf(name);
    if (field === undefined || map.has(field) || mapped.has(index)) continue;
    const earlier = columns.get(field);
    if (earlier !== undefined)
      throw new UserError(
        `The columns ${quoted(header[earlier] as string)} and ${quoted(name)} both mean ${field}. Choose one with --map ${field}=${shellWord(name)}.`,
      );
    columns.set(field, index);
  }
  const isIdentifying = (field: string) => EMAILS.includes(field) || (withoutEmail && OTHERS.test(field));
  if (![...columns.keys()].some(isIdentifying))
    throw missing(withoutEmail ? 'an email, phone, externalId or click id' : 'email or hashed_email', 'email', header);
  for (const field of defaults.keys()) if (!columns.has(field)) columns.set(field, -1);
  if (!columns.has('event')) throw missing('event', 'event', header);
  return [...columns].map(([field, index]) => ({ field, index }));
}

function indexOf(header: readonly string[], theirs: string, field: string): number {
  const exact = header.indexOf(theirs);
  const found = exact === -1 ? header.findIndex((name) => comparable(name) === comparable(theirs)) : exact;
  if (found === -1)
    throw new UserError(
      `--map ${field}=${shellWord(theirs)}: there is no such column. The file has ${listed(header)}.`,
    );
  return found;
}

function missing(what: string, field: string, header: readonly string[]): UserError {
  const constant = field === 'event' ? ', or state one event for all lines with --default event=purchase' : '';
  return new UserError(
    `No column holds ${what}. The file has ${listed(header)}. Name the column with --map ${field}=<column>${constant}. Nothing was imported.`,
  );
}

const LISTED_MAX = 40;
const NAME_MAX = 60;

function listed(header: readonly string[]): string {
  const names = header.slice(0, LISTED_MAX).map(quoted).join(', ');
  return header.length > LISTED_MAX ? `${names} and ${header.length - LISTED_MAX} more columns` : names;
}

/** The first line of a file without a header can be anything: control characters, a long text, a person's address. */
function quoted(name: string): string {
  if (containsEmail(name)) return '(an email address)';
  const text = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
  return `"${text.length > NAME_MAX ? `${text.slice(0, NAME_MAX)}…` : text}"`;
}

function shellWord(name: string): string {
  return /^[\w.@-]+$/.test(name) ? name : quoted(name);
}
