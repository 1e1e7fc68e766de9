import type { Landing } from './landing.js';
import type { PlatformCookies } from './platform-cookies.js';

/** The tag's record of one visitor. It is stored in the browser as JSON: a renamed field loses the stored value. */
export interface VisitorRecord {
  /** Random id. Empty until it may be stored. */
  visitor: string;
  visit: string;
  /** Time of the visitor's last activity. */
  seen: number;
  clicks: Record<string, Click>;
  utm: Record<string, string>;
  first?: Touch | undefined;
  /** SHA-256 of the email identified last, and the time of that. */
  hash?: string | undefined;
  hashed: number;
  /** Checksum of the last identify message. An equal message is not sent again. */
  told: number;
}

export interface Click {
  id: string;
  t: number;
  page?: string;
}

export interface Touch {
  t: number;
  page?: string;
  referrer?: string | undefined;
  utm: Record<string, string>;
}

const DAY_MS = 864e5;

export function emptyRecord(): VisitorRecord {
  return { visitor: '', visit: '', seen: 0, clicks: {}, utm: {}, hashed: 0, told: 0 };
}

/** Drops values older than `days`, and the whole record if the visitor denied consent after the last activity. */
export function dropExpired(record: VisitorRecord, days: number, deniedAt: number, now: number): VisitorRecord {
  const since = now - days * DAY_MS;
  if (!(record.seen > since && record.seen >= deniedAt)) return emptyRecord();
  for (const kind in record.clicks) if (!((record.clicks[kind] as Click).t > since)) delete record.clicks[kind];
  if (record.first && !(record.first.t > since)) delete record.first;
  if (!(record.hashed > since)) delete record.hash;
  return record;
}

/** Cookie, localStorage and open pages may differ: the later record wins, the earlier one fills in missing values. */
export function mergeRecords(a: VisitorRecord, b: VisitorRecord): VisitorRecord {
  const [later, earlier] = b.seen > a.seen ? [b, a] : [a, b];
  for (const kind in earlier.clicks) {
    const [ours, other] = [later.clicks[kind], earlier.clicks[kind] as Click];
    // If both have the click, prefer the copy with the page: the cookie stores none.
    if (!ours || other.t > ours.t || (other.t === ours.t && other.page)) later.clicks[kind] = other;
  }
  const { first } = earlier;
  if (first && (!later.first || first.t < later.first.t || (first.t === later.first.t && first.page)))
    later.first = first;
  if (earlier.hashed > later.hashed) Object.assign(later, { hash: earlier.hash, hashed: earlier.hashed });
  if (!later.visitor) Object.assign(later, { visitor: earlier.visitor, visit: earlier.visit });
  return later;
}

/**
 * Adds the click ids and UTM fields of a page's address. Returns whether any of them is new.
 * @param isArrival false on a reload or back navigation: the address then holds old ids, which replace none
 */
export function addLanding(record: VisitorRecord, landing: Landing, touch: Touch, isArrival: boolean): boolean {
  let isNew = false;
  for (const kind in landing.ids) {
    const [id, existing] = [landing.ids[kind] as string, record.clicks[kind]];
    if (existing && (existing.id === id || !isArrival)) continue;
    record.clicks[kind] = { id, t: touch.t, ...(touch.page && { page: touch.page }) };
    isNew = true;
  }
  const utm = JSON.stringify(landing.utm);
  if (isArrival && utm !== '{}' && utm !== JSON.stringify(record.utm)) isNew = true;
  // Replace all UTM fields: merging would mix two campaigns.
  if (isNew) record.utm = landing.utm;
  if (!record.first) record.first = touch;
  return isNew;
}

/** A cookie with a click time replaces an older click. A cookie without one is used only where there is no click. */
export function addCookieClicks(record: VisitorRecord, { clicks }: PlatformCookies, days: number, now: number): void {
  for (const kind in clicks) {
    const [{ id, t }, existing] = [clicks[kind] as { id: string; t?: number }, record.clicks[kind]];
    const isNewer = !existing || (t && t > existing.t && id !== existing.id);
    if (isNewer && !(t && (t > now || t <= now - days * DAY_MS))) record.clicks[kind] = { id, t: t || now };
  }
}
