import type { Landing } from './landing.js';
import type { PlatformCookies } from './platform-cookies.js';

/** What the tag knows of one visitor. It lies in the visitor's browser, in this shape. */
export interface Kept {
  /** Random; empty until it may be kept. */
  visitor: string;
  visit: string;
  /** When the visitor was last active. */
  seen: number;
  clicks: Record<string, Click>;
  utm: Record<string, string>;
  first?: Touch | undefined;
  /** SHA-256 of the email that was identified last, and when. */
  hash?: string | undefined;
  hashed: number;
  /** Stands for what the last identify told, so that it is not told twice. */
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

export function nothingKept(): Kept {
  return { visitor: '', visit: '', seen: 0, clicks: {}, utm: {}, hashed: 0, told: 0 };
}

/** What was stored, as far as it may still be used: not older than `days`, nor from before the last denial. */
export function stillValid(kept: Kept, days: number, deniedAt: number, now: number): Kept {
  const since = now - days * DAY_MS;
  if (!(kept.seen > since && kept.seen >= deniedAt)) return nothingKept();
  for (const kind in kept.clicks) if (!((kept.clicks[kind] as Click).t > since)) delete kept.clicks[kind];
  if (kept.first && !(kept.first.t > since)) delete kept.first;
  if (!(kept.hashed > since)) delete kept.hash;
  return kept;
}

/** Two places, or two pages, may know different things: the later one speaks, the other adds what only it knows. */
export function united(a: Kept, b: Kept): Kept {
  const [later, earlier] = b.seen > a.seen ? [b, a] : [a, b];
  for (const kind in earlier.clicks) {
    const [ours, other] = [later.clicks[kind], earlier.clicks[kind] as Click];
    // Of the same click, the one that knows its page.
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
 * Takes in what the page's address brought, and says whether there was something new.
 * @param isArrival false on a reload or a way back: the ids in the address are then old ones and displace none
 */
export function takeLanding(kept: Kept, landing: Landing, touch: Touch, isArrival: boolean): boolean {
  let isNew = false;
  for (const kind in landing.ids) {
    const [id, known] = [landing.ids[kind] as string, kept.clicks[kind]];
    if (known && (known.id === id || !isArrival)) continue;
    kept.clicks[kind] = { id, t: touch.t, ...(touch.page && { page: touch.page }) };
    isNew = true;
  }
  const utm = JSON.stringify(landing.utm);
  if (isArrival && utm !== '{}' && utm !== JSON.stringify(kept.utm)) isNew = true;
  // The fields of one campaign never mix with those of another.
  if (isNew) kept.utm = landing.utm;
  if (!kept.first) kept.first = touch;
  return isNew;
}

/** A cookie that tells its time competes by it; one that does not only fills a gap. */
export function takeCookieClicks(kept: Kept, { clicks }: PlatformCookies, days: number, now: number): void {
  for (const kind in clicks) {
    const [{ id, t }, known] = [clicks[kind] as { id: string; t?: number }, kept.clicks[kind]];
    const isNewer = !known || (t && t > known.t && id !== known.id);
    if (isNewer && !(t && (t > now || t <= now - days * DAY_MS))) kept.clicks[kind] = { id, t: t || now };
  }
}
