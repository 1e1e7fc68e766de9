import { type ConsentState, type TagClick, type Touch, type VisitSignals } from '../events/visitor.events.js';
import { isUuid } from '../kernel/uuid.js';
import { readConsent } from './consent.js';
import { CLICK_KINDS, COOKIE_KINDS, type StoredClickKind, UTM_FIELDS } from './identifier-kinds.js';
import { isPublicText, pageWithoutQuery } from './public-text.js';

const TEXT_MAX = 500;
/** A click cannot be told of before it happened; a clock may be wrong. */
const OLDEST_CLICK_MS = 400 * 24 * 60 * 60 * 1_000;

/** What the browser tag sends, read and bounded: everything in it comes from outside. */
export interface TagMessage {
  /** Random, kept in the browser; absent where the visitor has not agreed to it. */
  readonly visitor?: string | undefined;
  /** Random, new for every visit. */
  readonly visit?: string | undefined;
  /** SHA-256 of the normalised email, where the visitor has told it. */
  readonly subject?: string | undefined;
  readonly page?: string | undefined;
  readonly referrer?: string | undefined;
  /** The newest of each kind that the browser keeps. */
  readonly clicks: Readonly<Partial<Record<StoredClickKind, TagClick>>>;
  readonly first?: Touch | undefined;
  readonly utm: Readonly<Record<string, string>>;
  readonly cookies: Readonly<Record<string, string>>;
  readonly consent?: ConsentState | undefined;
  readonly signals: TagSignals;
}

/** What the browser shows of itself, beside what its request does. */
export type TagSignals = Omit<VisitSignals, 'ip' | 'userAgent' | 'country' | 'headers'>;

/**
 * The message in a body that has been parsed; undefined when it is none of ours. What is missing, too long or of the wrong
 * kind inside it is left out, as if the browser had not sent it: a visitor's odd browser is no reason to lose his visit.
 */
export function readTagMessage(body: Record<string, unknown>, nowMs: number): TagMessage | undefined {
  if (body['v'] !== 1) return undefined;
  return {
    visitor: asUuid(body['visitor']),
    visit: asUuid(body['visit']),
    subject: asHash(body['hash']),
    page: pageWithoutQuery(body['page']),
    referrer: pageWithoutQuery(body['referrer']),
    clicks: readClicks(body['clicks'], nowMs),
    first: readTouch(body['first'], nowMs),
    utm: readTexts(body['utm'], UTM_FIELDS),
    cookies: readTexts(body['cookies'], COOKIE_KINDS),
    consent: readConsent(body['consent']),
    signals: readSignals(body['signals']),
  };
}

function readClicks(value: unknown, nowMs: number): Partial<Record<StoredClickKind, TagClick>> {
  const clicks: Partial<Record<StoredClickKind, TagClick>> = {};
  const told = asObject(value);
  for (const kind of CLICK_KINDS) {
    const click = asObject(told[kind]);
    if (!isPublicText(click['id'], TEXT_MAX)) continue;
    clicks[kind] = { id: click['id'], timeMs: readTime(click['t'], nowMs), page: pageWithoutQuery(click['page']) };
  }
  return clicks;
}

function readTouch(value: unknown, nowMs: number): Touch | undefined {
  const told = asObject(value);
  const utm = readTexts(told['utm'], UTM_FIELDS);
  const page = pageWithoutQuery(told['page']);
  if (page === undefined && Object.keys(utm).length === 0) return undefined;
  return { timeMs: readTime(told['t'], nowMs), page, referrer: pageWithoutQuery(told['referrer']), utm };
}

/** Of the visitor's clock, which may be wrong: never later than ours, and not from another age. */
function readTime(value: unknown, nowMs: number): number {
  if (typeof value !== 'number' || !(value > nowMs - OLDEST_CLICK_MS) || value > nowMs) return nowMs;
  return Math.floor(value);
}

function readTexts(value: unknown, names: readonly string[]): Record<string, string> {
  const texts: Record<string, string> = {};
  const told = asObject(value);
  for (const name of names) if (isPublicText(told[name], TEXT_MAX)) texts[name] = told[name];
  return texts;
}

function readSignals(value: unknown): TagSignals {
  const told = asObject(value);
  const signals: Record<string, unknown> = {};
  for (const name of ['webdriver', 'hidden', 'honeypot'])
    if (typeof told[name] === 'boolean') signals[name] = told[name];
  for (const name of ['languages', 'touch', 'plugins', 'loadedMs', 'submitMs', 'interactions'])
    if (isCount(told[name])) signals[name] = Math.round(told[name]);
  for (const name of ['screen', 'viewport']) {
    const size = told[name];
    if (Array.isArray(size) && size.length === 2 && size.every(isCount)) signals[name] = size.map(Math.round);
  }
  const { automation, identifiedBy } = told;
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
