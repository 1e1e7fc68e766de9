import { type ConsentState, type TagClick, type Touch, type VisitSignals } from '../../events/visitor.events.js';
import { isUuid } from '../../kernel/uuid.js';
import { CLICK_KINDS, COOKIE_KINDS, type StoredClickKind } from '../../platforms/click-ids.js';
import { readConsent } from '../consent.js';
import { type DefaultRegions, readDefaultRegions } from './default-regions.js';

export const UTM_FIELDS = [
  'source',
  'medium',
  'campaign',
  'term',
  'content',
  'id',
  'source_platform',
  'creative_format',
  'marketing_tactic',
] as const;
const TEXT_MAX = 500;
const PAGE_MAX = 2_000;
/** An older time indicates a wrong clock. */
const CLICK_AGE_MAX_MS = 400 * 24 * 60 * 60 * 1_000;

/** Endpoints of the tag: `POST /__cc/<call>`. */
export type TagCall = 'collect' | 'identify' | 'consent';

/** A message of the browser tag. All input is untrusted, so every field is checked and bounded. */
export interface TagMessage {
  /** Random id kept in the browser; absent without consent to store it. */
  readonly visitor?: string | undefined;
  /** Random id of the visit. */
  readonly visit?: string | undefined;
  /** Random id that the browser keeps with the visitor's decision about consent. */
  readonly statement?: string | undefined;
  /** SHA-256 of the normalised email, if the visitor entered one. */
  readonly subject?: string | undefined;
  readonly page?: string | undefined;
  readonly referrer?: string | undefined;
  /** The newest click id of each kind that the browser stores. */
  readonly clicks: Readonly<Partial<Record<StoredClickKind, TagClick>>>;
  readonly first?: Touch | undefined;
  readonly utm: Readonly<Record<string, string>>;
  readonly cookies: Readonly<Record<string, string>>;
  readonly consent?: ConsentState | undefined;
  /** Regions in which the page denies by default, if it names any. */
  readonly defaultRegions?: DefaultRegions | undefined;
  /** Where the visitor is in Europe, as far as the service knows. */
  readonly europe?: true | undefined;
  readonly signals: TagSignals;
}

/** Signals that the tag collects in the browser; the others come from the HTTP request. */
export type TagSignals = Omit<VisitSignals, 'ip' | 'userAgent' | 'country' | 'headers'>;

/**
 * Undefined when the body is not a message of the tag. Fields that are too long or of the wrong type are dropped instead of
 * rejected, so that an unusual browser does not lose the visit.
 */
export function readTagMessage(body: Record<string, unknown>, nowMs: number): TagMessage | undefined {
  if (body['v'] !== 1) return undefined;
  return {
    visitor: asUuid(body['visitor']),
    visit: asUuid(body['visit']),
    statement: asUuid(body['statement']),
    subject: asHash(body['hash']),
    page: pageWithoutQuery(body['page']),
    referrer: pageWithoutQuery(body['referrer']),
    clicks: readClicks(body['clicks'], nowMs),
    first: readTouch(body['first'], nowMs),
    utm: readTexts(body['utm'], UTM_FIELDS),
    cookies: readTexts(body['cookies'], COOKIE_KINDS),
    consent: readConsent(body['consent']),
    defaultRegions: readDefaultRegions(body['defaultRegions']),
    signals: readSignals(body['signals']),
  };
}

function readClicks(value: unknown, nowMs: number): Partial<Record<StoredClickKind, TagClick>> {
  const clicks: Partial<Record<StoredClickKind, TagClick>> = {};
  const input = asObject(value);
  for (const kind of CLICK_KINDS) {
    const click = asObject(input[kind]);
    if (!isPublicText(click['id'], TEXT_MAX)) continue;
    clicks[kind] = { id: click['id'], timeMs: readTime(click['t'], nowMs), page: pageWithoutQuery(click['page']) };
  }
  return clicks;
}

function readTouch(value: unknown, nowMs: number): Touch | undefined {
  const input = asObject(value);
  const utm = readTexts(input['utm'], UTM_FIELDS);
  const page = pageWithoutQuery(input['page']);
  if (page === undefined && Object.keys(utm).length === 0) return undefined;
  return { timeMs: readTime(input['t'], nowMs), page, referrer: pageWithoutQuery(input['referrer']), utm };
}

/** A time of the visitor's clock. The current time replaces one that is in the future or too old. */
function readTime(value: unknown, nowMs: number): number {
  if (typeof value !== 'number' || !(value > nowMs - CLICK_AGE_MAX_MS) || value > nowMs) return nowMs;
  return Math.floor(value);
}

function readTexts(value: unknown, names: readonly string[]): Record<string, string> {
  const texts: Record<string, string> = {};
  const input = asObject(value);
  for (const name of names) if (isPublicText(input[name], TEXT_MAX)) texts[name] = input[name];
  return texts;
}

function readSignals(value: unknown): TagSignals {
  const input = asObject(value);
  const signals: Record<string, unknown> = {};
  for (const name of ['webdriver', 'hidden', 'honeypot'])
    if (typeof input[name] === 'boolean') signals[name] = input[name];
  for (const name of ['languages', 'touch', 'plugins', 'loadedMs', 'submitMs', 'interactions'])
    if (isCount(input[name])) signals[name] = Math.round(input[name]);
  for (const name of ['screen', 'viewport']) {
    const size = input[name];
    if (Array.isArray(size) && size.length === 2 && size.every(isCount)) signals[name] = size.map(Math.round);
  }
  const { automation, identifiedBy } = input;
  if (identifiedBy === 'form' || identifiedBy === 'call') signals['identifiedBy'] = identifiedBy;
  if (Array.isArray(automation))
    signals['automation'] = automation
      .filter((name): name is string => typeof name === 'string' && /^\w{1,32}$/.test(name))
      .slice(0, 16);
  return signals;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1e9;
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function asUuid(value: unknown): string | undefined {
  return typeof value === 'string' && isUuid(value) ? value.toLowerCase() : undefined;
}

function asHash(value: unknown): string | undefined {
  return typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value) ? value.toLowerCase() : undefined;
}

/** Short, printable, and without an email address: some sites put addresses into links and campaign names by accident. */
function isPublicText(value: unknown, maxLength: number): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= maxLength &&
    !/\p{Cc}/u.test(value) &&
    !/@|%(?:25)*40/.test(value)
  );
}

/** The URL without query and fragment, which may hold personal data. Click ids and campaign fields are stored by name. */
function pageWithoutQuery(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 8 * PAGE_MAX) return undefined;
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return undefined;
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
  const page = url.origin + url.pathname;
  return isPublicText(page, PAGE_MAX) ? page : `${url.origin}/`;
}
