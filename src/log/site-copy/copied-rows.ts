import { checkData } from '../../events/check-data.js';
import { EVENT_SCHEMAS, type EventType } from '../../events/index.js';
import { LOG } from '../../events/log.events.js';
import { mayBePersonal } from '../../events/personal-types.js';
import { USER } from '../../events/user.events.js';
import { derivedUuid, isUuid } from '../../kernel/uuid.js';
import { parseCopyText } from '../copy-text.js';
import { SiteCopyRefused } from './site-copy-errors.js';

/** Bytes of one row, as text. Twice what a batch of the append may have. */
const ROW_BYTES_MAX = 4 * 1024 * 1024;
const PAGE_EVENTS_MAX = 10_000;
/** What a Date and ISO 8601 with four digits can state. */
const TIME_MIN_MS = Date.UTC(2000, 0, 1);
const TIME_MAX_MS = Date.UTC(10_000, 0, 1) - 1;
const VERSION_MAX = 2 ** 31 - 1;
/** Lengths of the subject of a visitor, of a person, and of a person without an email. */
const SUBJECT_BYTES = [16, 32, 33];
const SALT_BYTES = [16];
const DIGEST_BYTES = [32];
const TEXT_MAX = 10_000;

/** Events of these categories belong to no site. */
const WITHOUT_SITE: readonly string[] = [LOG, USER];
/** A site has one stream with a derived id in each of these categories; but jobs, which are of its category, have their own. */
const DERIVED: readonly string[] = ['site', 'outbound', 'auth'];
const JOB = 'site.job_';

/** The forms that `AppendRequest` documents, and `cli` of earlier versions. */
const ACTOR = /^(system|tag|cli|cli:.+|(key|user|token):[\w-]+)$/su;

const ERASED = 'visitor.erased.v1';
/** In the place of whether a row has a personal part. */
export const ERASED_ONLY = 'e';

const TYPES: ReadonlySet<string> = new Set(Object.keys(EVENT_SCHEMAS));
const CATEGORIES: ReadonlySet<string> = new Set(
  [...TYPES].map(categoryOf).filter((category) => !WITHOUT_SITE.includes(category)),
);

/** An event of another log, checked: everything that can be judged without this log. */
export interface CopiedEvent {
  /** In the log that sends it. */
  readonly position: number;
  /** Its place in the order of the site. */
  readonly order: number;
  /** It comes after an event with the same or a later place. */
  readonly isLate: boolean;
  readonly timeMs: number;
  readonly id: string;
  readonly category: string;
  readonly stream: string;
  readonly version: number;
  readonly isErased: boolean;
  /** The row only says that it is erased. */
  readonly isErasedOnly: boolean;
  /** As `EventRow` expects them, without the escapes of COPY. */
  readonly fields: readonly (string | null)[];
}

/**
 * A page of `readSiteCopy` as it arrived. The sender may be hostile or damaged: what is stored here stays, and a row that readers
 * cannot parse would stop them for all sites. So a row with anything unusual is refused, and with it the page.
 */
export function parseCopiedRows(rows: Buffer, site: string): CopiedEvent[] {
  const lines = parseCopyText(rows, COLUMNS, { bytes: ROW_BYTES_MAX, rows: PAGE_EVENTS_MAX });
  const events: CopiedEvent[] = [];
  const ids = new Set<string>();
  const reached = new Map<string, number>();
  let last = 0;
  let highest = 0;
  for (const fields of lines) {
    const position = wholeNumber(fields[0], Number.MAX_SAFE_INTEGER, 'a row without a valid position');
    const refuse = (what: string): never => {
      throw new SiteCopyRefused(`the event at position ${position} of the other log ${what}`);
    };
    if (position <= last) refuse(`does not follow the one at position ${last}`);
    last = position;
    const event = checkRow(fields, position, site, refuse);
    if (ids.has(event.id)) refuse('occurs twice');
    ids.add(event.id);
    const before = reached.get(event.stream);
    if (before !== undefined && (event.isErasedOnly ? event.version <= before : event.version !== before + 1))
      refuse(`has version ${event.version} of its stream instead of ${before + 1}`);
    reached.set(event.stream, event.version);
    // A log that the site has left states erasures too, so theirs is no place in the order.
    const isOrdered = fields[5] !== ERASED;
    events.push({ ...event, isLate: isOrdered && event.order <= highest });
    if (isOrdered) highest = Math.max(highest, event.order);
  }
  return events;
}

/** `SEALED_COLUMNS`. */
const COLUMNS = 18;

function checkRow(
  fields: readonly (string | null)[],
  position: number,
  site: string,
  refuse: (what: string) => never,
): Omit<CopiedEvent, 'isLate'> {
  const [, id, category, stream, version, type, ofSite, time, actor, data, , , , origin, reference] = fields;
  if (ofSite !== site) refuse('belongs to another site');
  if (!isId(id) || !isId(stream)) refuse('has an invalid id or stream');
  if (!type || !TYPES.has(type)) refuse('has a type that this version does not know: upgrade this service');
  const ofType = categoryOf(type as string);
  if (category !== ofType || !CATEGORIES.has(ofType)) refuse('has a category that its type does not belong to');
  if (!actor || actor.length > TEXT_MAX || !ACTOR.test(actor)) refuse('has an invalid actor');
  if (reference && reference.length > TEXT_MAX) refuse('has an invalid reference');
  const timeMs = wholeNumber(time, TIME_MAX_MS, 'an event without a valid time');
  if (timeMs < TIME_MIN_MS) refuse('has an invalid time');
  const value = parsedObject(data, refuse);
  const wrong = checkData(type as EventType, value);
  if (wrong !== undefined) refuse(`does not have the data of its type: ${wrong}`);
  if (stream !== streamOf(type as string, value, site, stream)) refuse('belongs to another stream than its site has');
  // The directory of sites and its projection would take over the site with that host.
  if (type === 'site.registered.v1' && (value as { readonly host: string }).host !== site)
    refuse('registers another site');
  checkPersonal(fields, site, refuse);
  const order = origin === null ? position : wholeNumber(origin, position, 'an event without a valid origin');
  return {
    ...{ position, order, timeMs, id: id as string, category: ofType, stream: stream as string, fields },
    version: wholeNumber(version, VERSION_MAX, 'an event without a valid version'),
    isErased: fields[17] !== null,
    isErasedOnly: fields[10] === ERASED_ONLY,
  };
}

function checkPersonal(fields: readonly (string | null)[], site: string, refuse: (what: string) => never): void {
  const type = fields[5] as string;
  const [has, subject, personal] = fields.slice(10, 13) as [string | null, string | null, string | null];
  const [salt, ofSite, erased] = fields.slice(15, 18) as [string | null, string | null, string | null];
  if (!isHex(subject, SUBJECT_BYTES) || !isHex(salt, SALT_BYTES)) refuse('has an invalid subject or salt');
  if (!isHex(erased, DIGEST_BYTES)) refuse('has an invalid digest of its erased part');
  if ((has !== 'f' || erased !== null) && !mayBePersonal(type)) refuse('has a personal part, which its type has not');
  if (has === 't') {
    if (ofSite !== site) refuse('has a personal part of another site');
    if (erased !== null) refuse('has a personal part although it is recorded as erased');
    // Readers add the subject, and this one would replace it.
    const parsed = personal === null ? {} : parsedObject(personal, refuse);
    if (Object.hasOwn(parsed, 'subject') || Object.hasOwn(parsed, 'person'))
      refuse('has a second subject in its personal part');
  } else if (has === ERASED_ONLY && erased === null) refuse('is said to be erased without a digest');
  else if ((has !== 'f' && has !== ERASED_ONLY) || [subject, personal, salt, ofSite].some((part) => part !== null))
    refuse('has a part of a personal row without the row');
}

/** The only stream that an event of its type may have; for other categories, that which it has. */
function streamOf(type: string, data: object, site: string, stream: string | null | undefined) {
  if (type.startsWith(JOB)) return (data as { readonly jobId: string }).jobId;
  const category = categoryOf(type);
  return DERIVED.includes(category) ? derivedUuid(`${category} ${site}`) : stream;
}

/**
 * Only JSON as the append stores it. Who verifies an export serialises its values again: with a key that occurs twice, another
 * order or another notation of a number the digest would differ.
 */
function parsedObject(json: string | null | undefined, refuse: (what: string) => never): object {
  let value: unknown;
  let again: string | undefined;
  try {
    value = JSON.parse(json ?? '');
    again = JSON.stringify(value);
  } catch {
    refuse('has data that is not JSON');
  }
  if (again !== json) refuse('has JSON that this service does not write in this form');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse('has data that is not an object');
  return value as object;
}

/** From 1. */
function wholeNumber(text: string | null | undefined, max: number, what: string): number {
  const value = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (!(value <= max)) throw new SiteCopyRefused(`there is ${what}`);
  return value;
}

/** Whether the value is absent, or hexadecimal with one of these lengths. */
function isHex(text: string | null, bytes: readonly number[]): boolean {
  return text === null || (bytes.includes(text.length / 2) && /^[0-9a-f]+$/.test(text));
}

/** As PostgreSQL writes it, so that two are equal if their texts are. */
function isId(text: string | null | undefined): boolean {
  return text !== null && text !== undefined && isUuid(text) && text === text.toLowerCase();
}

function categoryOf(type: string): string {
  return type.slice(0, type.indexOf('.'));
}
