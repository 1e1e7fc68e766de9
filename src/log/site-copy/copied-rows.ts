import { checkData } from '../../events/check-data.js';
import { EVENT_SCHEMAS, type EventType } from '../../events/index.js';
import { LOG } from '../../events/log.events.js';
import { mayBePersonal } from '../../events/personal-types.js';
import { USER } from '../../events/user.events.js';
import { derivedUuid, isUuid } from '../../kernel/uuid.js';
import { parseCopyText } from './copy-text.js';
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

const TYPES: ReadonlySet<string> = new Set(Object.keys(EVENT_SCHEMAS));
const CATEGORIES: ReadonlySet<string> = new Set(
  [...TYPES].map(categoryOf).filter((category) => !WITHOUT_SITE.includes(category)),
);

/** An event of another log, checked: everything that can be judged without this log. */
export interface CopiedEvent {
  /** In the log that sends it. */
  readonly position: number;
  readonly timeMs: number;
  readonly id: string;
  readonly category: string;
  readonly stream: string;
  readonly version: number;
  readonly type: string;
  readonly actor: string;
  readonly reference: string | null;
  readonly data: object;
  /** Null if there never was a personal part, or if it is erased. */
  readonly part: {
    readonly subject: string | null;
    readonly data: object | null;
    /** Those from before the hash chain have none. */
    readonly salt: string | null;
  } | null;
  /** Digest of an erased personal part. */
  readonly erased: string | null;
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
    if (before !== undefined && event.version !== before + 1)
      refuse(`has version ${event.version} of its stream instead of ${before + 1}`);
    reached.set(event.stream, event.version);
    events.push(event);
  }
  return events;
}

/** `SEALED_COLUMNS`. */
const COLUMNS = 17;

function checkRow(
  fields: readonly (string | null)[],
  position: number,
  site: string,
  refuse: (what: string) => never,
): CopiedEvent {
  const [, id, category, stream, version, type, ofSite, time, actor, data, has, subject, , reference, salt] = fields;
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
  const part = checkPersonal(fields, site, refuse);
  return {
    ...{ position, timeMs, id: id as string, category: ofType, stream: stream as string, type: type as string },
    ...{ actor: actor as string, reference: reference ?? null, data: value, erased: fields[16] ?? null },
    version: wholeNumber(version, VERSION_MAX, 'an event without a valid version'),
    part: has === 't' ? { subject: subject ?? null, data: part, salt: salt ?? null } : null,
  };
}

function checkPersonal(fields: readonly (string | null)[], site: string, refuse: (what: string) => never) {
  const type = fields[5] as string;
  const [has, subject, personal] = fields.slice(10, 13) as [string | null, string | null, string | null];
  const [salt, ofSite, erased] = fields.slice(14, 17) as [string | null, string | null, string | null];
  if (!isHex(subject, SUBJECT_BYTES) || !isHex(salt, SALT_BYTES)) refuse('has an invalid subject or salt');
  if (!isHex(erased, DIGEST_BYTES)) refuse('has an invalid digest of its erased part');
  if ((has !== 'f' || erased !== null) && !mayBePersonal(type)) refuse('has a personal part, which its type has not');
  if (has === 't') {
    if (ofSite !== site) refuse('has a personal part of another site');
    if (erased !== null) refuse('has a personal part although it is recorded as erased');
    const data = personal === null ? null : parsedObject(personal, refuse);
    // Readers add the subject, and this one would replace it.
    if (data && (Object.hasOwn(data, 'subject') || Object.hasOwn(data, 'person')))
      refuse('has a second subject in its personal part');
    return data;
  }
  if (has !== 'f' || [subject, personal, salt, ofSite].some((part) => part !== null))
    refuse('has a part of a personal row without the row');
  return null;
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
