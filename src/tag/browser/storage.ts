import type { Consent } from './consent.js';
import { decode } from './landing.js';
import { attempt } from './page.js';
import { stringifyWithin } from './stringify-within.js';
import { dropExpired, emptyRecord, mergeRecords, type VisitorRecord } from './visitor-record.js';

/** Both values are stored twice, in a cookie for the whole domain and in localStorage. Either alone is enough. */
const RECORD = '_cc';
const DECISION = '_cc_consent';
/** Browsers allow 4096 with name and attributes. Shorter, because the cookie is part of every request to the site. */
const COOKIE_LENGTH = 3500;
const DECISION_DAYS = 365;

/** The visitor's consent decision. It is stored longer than the record, because it identifies no person. */
export interface Decision {
  consent: Consent;
  /** Time of the decision. */
  at: number;
  /** Records stored before the last denial are void, also on other hosts of the site that this page cannot reach. */
  deniedAt: number;
  /** Random. Sent with each statement of consent, so that the visitor can take a denial back. */
  id?: string;
}

export function readRecord(days: number, deniedAt: number, now: number): VisitorRecord {
  const [local, cookie] = [readJson(RECORD, fromLocal), readJson(RECORD, fromCookie)].map((record) =>
    isRecord(record) ? dropExpired(record, days, deniedAt, now) : emptyRecord(),
  ) as [VisitorRecord, VisitorRecord];
  return mergeRecords(local, cookie);
}

export function storeRecord(record: VisitorRecord, days: number): void {
  attempt(() => localStorage.setItem(RECORD, JSON.stringify(record)));
  // The cookie holds no page addresses: they would lengthen every request to the site.
  const short = JSON.parse(JSON.stringify(record, (key, value) => (/^(page|referrer)$/.test(key) ? undefined : value)));
  writeCookie(
    RECORD,
    stringifyWithin(short, COOKIE_LENGTH, (text) => encodeURIComponent(text).length),
    days,
  );
}

export function eraseRecord(): void {
  attempt(() => localStorage.removeItem(RECORD));
  if (fromCookie(RECORD)) writeCookie(RECORD, '', 0);
}

/** The latest of this page's decision and the stored ones, which another page may have written. */
export function latestDecision(latest: Decision): Decision {
  for (const from of [fromLocal, fromCookie]) {
    const stored = readJson(DECISION, from) as Decision | undefined;
    if (stored?.consent && (stored.at > latest.at || stored.deniedAt > latest.deniedAt)) latest = stored;
  }
  return latest;
}

export function storeDecision(decision: Decision): void {
  attempt(() => localStorage.setItem(DECISION, JSON.stringify(decision)));
  writeCookie(DECISION, JSON.stringify(decision), DECISION_DAYS);
}

function readJson(name: string, from: (name: string) => string | null | undefined): unknown {
  return attempt(() => JSON.parse(from(name) || 'null'));
}

function fromLocal(name: string) {
  return localStorage.getItem(name);
}

function fromCookie(name: string) {
  const pair = attempt(() => document.cookie.split('; ').filter((cookie) => cookie.indexOf(`${name}=`) === 0)[0]);
  return pair && decode(pair.slice(name.length + 1));
}

/** Stored values are untrusted: any script on the page can write to its storage. */
function isRecord(record: unknown): record is VisitorRecord {
  const { visitor, clicks, utm } = (record || {}) as Partial<VisitorRecord>;
  return typeof visitor === 'string' && !!clicks && !!utm;
}

let domain: string | undefined;

/** Uses the widest domain that the browser accepts from this page. Browsers reject cookies for public suffixes. */
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
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is asynchronous and not in every browser.
  document.cookie = `${cookie};path=/;samesite=lax${secure}`;
}
