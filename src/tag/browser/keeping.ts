import type { Consent } from './consent.js';
import { fitting } from './fitting.js';
import { type Kept, nothingKept, stillValid, united } from './kept.js';
import { decode } from './landing.js';
import { attempt } from './page.js';

/** Where things are kept in the browser: a cookie for the whole domain and localStorage; either alone is enough. */
const RECORD = '_cc';
const DECISION = '_cc_consent';
/** What browsers take is 4096 with name and attributes; the visitor sends it along with every request to the site. */
const COOKIE_LENGTH = 3500;
const DECISION_DAYS = 365;

/** The visitor's own words are remembered longer than what they allow: they identify nobody. */
export interface Decision {
  consent: Consent;
  /** When it was said. */
  at: number;
  /** What was stored before the last denial is void, also where this page cannot reach it: on another host of the site. */
  deniedAt: number;
}

export function storedRecord(days: number, deniedAt: number, now: number): Kept {
  const [local, cookie] = [read(RECORD, fromLocal), read(RECORD, fromCookie)].map((kept) =>
    isKept(kept) ? stillValid(kept, days, deniedAt, now) : nothingKept(),
  ) as [Kept, Kept];
  return united(local, cookie);
}

export function storeRecord(kept: Kept, days: number): void {
  attempt(() => localStorage.setItem(RECORD, JSON.stringify(kept)));
  // No address of a page goes into the cookie: it would make every request to the site longer.
  const short = JSON.parse(JSON.stringify(kept, (key, value) => (/^(page|referrer)$/.test(key) ? undefined : value)));
  writeCookie(
    RECORD,
    fitting(short, COOKIE_LENGTH, (text) => encodeURIComponent(text).length),
    days,
  );
}

export function eraseRecord(): void {
  attempt(() => localStorage.removeItem(RECORD));
  if (fromCookie(RECORD)) writeCookie(RECORD, '', 0);
}

/** The latest of what this page knows and what was stored, by this page or another. */
export function latestDecision(known: Decision): Decision {
  for (const from of [fromLocal, fromCookie]) {
    const stored = read(DECISION, from) as Decision | undefined;
    if (stored?.consent && (stored.at > known.at || stored.deniedAt > known.deniedAt)) known = stored;
  }
  return known;
}

export function storeDecision(decision: Decision): void {
  attempt(() => localStorage.setItem(DECISION, JSON.stringify(decision)));
  writeCookie(DECISION, JSON.stringify(decision), DECISION_DAYS);
}

function read(name: string, from: (name: string) => string | null | undefined): unknown {
  return attempt(() => JSON.parse(from(name) || 'null'));
}

function fromLocal(name: string) {
  return localStorage.getItem(name);
}

function fromCookie(name: string) {
  const pair = attempt(() => document.cookie.split('; ').filter((cookie) => cookie.indexOf(`${name}=`) === 0)[0]);
  return pair && decode(pair.slice(name.length + 1));
}

/** Whoever can write to the page's storage may have written anything. */
function isKept(kept: unknown): kept is Kept {
  const { visitor, clicks, utm } = (kept || {}) as Partial<Kept>;
  return typeof visitor === 'string' && !!clicks && !!utm;
}

let domain: string | undefined;

/** For the widest domain that the browser lets this page set a cookie for; public suffixes it refuses by itself. */
function writeCookie(name: string, text: string, days: number): void {
  attempt(() => {
    const labels = location.hostname.split('.');
    const write = (on: string) => setCookie(`${name}=${encodeURIComponent(text)};max-age=${days * 86400}${on}`);
    for (let count = 2; domain === undefined && count <= labels.length; count += 1) {
      const wide = `;domain=${labels.slice(-count).join('.')}`;
      write(wide);
      if ((fromCookie(name) || '') === text) domain = wide;
    }
    write(domain || '');
  });
}

function setCookie(cookie: string): void {
  const secure = location.protocol === 'https:' ? ';secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: not every browser has the Cookie Store, and it answers later.
  document.cookie = `${cookie};path=/;samesite=lax${secure}`;
}
