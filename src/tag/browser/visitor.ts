import { type Consent, consentIn, denialsOf, standingOf } from './consent.js';
import { hashOf, isEmail, normaliseEmail } from './email.js';
import { type Decision, eraseRecord, latestDecision, storeDecision, storedRecord, storeRecord } from './keeping.js';
import { nothingKept, stillValid, type Touch, takeCookieClicks, takeLanding, united } from './kept.js';
import { addressOf, type Landing, landingOf } from './landing.js';
import { attempt, guarded } from './page.js';
import { platformCookiesIn } from './platform-cookies.js';
import { post } from './post.js';
import { signals } from './signals.js';

const VISIT_MS = 30 * 60_000;
const NO_LANDING = '{"ids":{},"utm":{}}';

let decision: Decision = { consent: {}, at: 0, deniedAt: 0 };
/** What the page denies as long as the visitor has not spoken. */
const denials: Consent = {};
/** What is known. Before a yes that the site requires, and after a no, it lies here and nowhere else. */
let known = nothingKept();
/** Landings that were not yet taken in. */
const arrivals: [landing: Landing, touch: Touch, isArrival: boolean][] = [];
/** Identifications that were not yet told. */
const identities: [hash: string, submitted: object][] = [];
/** The timer of a collect to come. */
let due = 0;
let isReady = false;
let hasChanged = false;

/** From here on things are kept and told; what was said before has been heard. */
export function begin(): void {
  if (isReady) return;
  isReady = true;
  settle();
}

/** The page goes away: what waits for its turn will not get one. */
export function finish(): void {
  begin();
  collect();
}

export function arrive(isArrival: boolean): void {
  const landing = landingOf(location.href);
  const touch = { t: Date.now(), ...place(), utm: landing.utm };
  // A page that is held back for long and navigates much must not fill the memory.
  if (!arrivals.length || JSON.stringify(landing) !== NO_LANDING) arrivals.push([landing, touch, isArrival]);
  settle();
}

export function hearConsent(said: unknown, isDefault?: boolean): void {
  decision = latestDecision(decision);
  if (isDefault) {
    Object.assign(denials, denialsOf(consentIn(said)));
    return;
  }
  const consent = { ...decision.consent, ...consentIn(said) };
  // Consent managers say the same on every page.
  if (JSON.stringify(consent) === JSON.stringify(decision.consent)) return;
  decision = { consent, at: Date.now(), deniedAt: decision.deniedAt };
  storeDecision(decision);
  hasChanged = true;
  settle();
}

/** The address itself goes no further than this function: what is kept and told is its hash. */
export function identify(email: unknown, submitted: object = { identifiedBy: 'call' }): void {
  const address = normaliseEmail(String(email));
  if (!isEmail(address) || !crypto.subtle) return;
  hashOf(address).then(
    guarded((hash) => {
      recall();
      known.hash = hash;
      known.hashed = Date.now();
      known.seen = known.seen || known.hashed;
      identities.push([hash, submitted]);
      // How the service learns of the opt-out of somebody whom it may know from another device.
      if (!CONFIG.required && !mayKeep()) post('consent', { v: 1, hash, consent: saidConsent() });
      settle();
    }),
    () => {},
  );
}

/** Brings what is stored and what the service knows in line with what the visitor allows now. */
export function settle(): void {
  if (!isReady) return;
  recall();
  if (isOptedOut()) withdraw();
  else if (mayKeep()) {
    visit();
    for (const identity of identities.splice(0)) tellIdentity(...identity);
    if (hasChanged && known.hash) post('consent', consentMessage());
  }
  hasChanged = false;
}

function visit(): void {
  const now = Date.now();
  let isNew = !known.visit || now - known.seen > VISIT_MS;
  for (const arrival of arrivals.splice(0)) isNew = takeLanding(known, ...arrival) || isNew;
  takeCookieClicks(known, platformCookies(), CONFIG.days, now);
  known.visitor = known.visitor || uuid();
  if (isNew) known.visit = uuid();
  known.seen = now;
  storeRecord(known, CONFIG.days);
  // In a task of its own: reading the browser's traits takes long on a slow phone.
  if (isNew && !due) due = window.setTimeout(guarded(collect));
}

function collect(): void {
  if (due && mayKeep()) post('collect', message({}));
  due = 0;
}

function tellIdentity(hash: string, submitted: object): void {
  known.hash = hash;
  const told = JSON.stringify([hash, known.visit, known.clicks, platformCookies()]);
  const mark = Array.from(told).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) | 0, 0);
  if (mark === known.told) return;
  known.told = mark;
  storeRecord(known, CONFIG.days);
  post('identify', message(submitted));
}

function withdraw(): void {
  const now = Date.now();
  known = united(storedRecord(CONFIG.days, decision.deniedAt, now), known);
  eraseRecord();
  if (known.visitor || (hasChanged && known.hash && !CONFIG.required)) post('consent', consentMessage());
  if (known.visitor || hasChanged) {
    decision.deniedAt = now;
    storeDecision(decision);
  }
  // What this page saw stays with this page, for a visitor who changes their mind on it.
  Object.assign(known, { visitor: '', visit: '', told: 0, seen: now });
}

/** Another page of the site may have changed either meanwhile. */
function recall(): void {
  const now = Date.now();
  decision = latestDecision(decision);
  known = stillValid(known, CONFIG.days, decision.deniedAt, now);
  if (mayKeep()) known = united(storedRecord(CONFIG.days, decision.deniedAt, now), known);
}

function mayKeep(): boolean {
  const standing = standingOf({ ...denials, ...decision.consent });
  return !hasGpc() && (standing === 'granted' || (standing === 'unknown' && !CONFIG.required));
}

/** By the visitor: what the page merely presumes holds things back, and removes nothing. */
function isOptedOut(): boolean {
  return hasGpc() || standingOf(decision.consent) === 'denied';
}

function hasGpc(): boolean {
  return !!(navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl;
}

function saidConsent(): object | undefined {
  const said = { ...denials, ...decision.consent };
  const gpc = hasGpc() && { ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied', gpc: true };
  return gpc || JSON.stringify(said) !== '{}' ? { ...said, ...gpc } : undefined;
}

function consentMessage() {
  const { visitor, visit, hash } = known;
  return { v: 1, visitor: visitor || undefined, visit: visit || undefined, hash, consent: saidConsent() };
}

function message(submitted: object) {
  const { clicks, utm, first } = known;
  return {
    ...consentMessage(),
    ...place(),
    clicks,
    utm,
    first,
    cookies: platformCookies().cookies,
    signals: { ...signals(), ...submitted },
  };
}

function place() {
  return { page: addressOf(location.href), referrer: addressOf(document.referrer) || undefined };
}

function platformCookies() {
  return platformCookiesIn(attempt(() => document.cookie) || '');
}

/** Version 4, also where `crypto.randomUUID` is missing: on plain http and in older browsers. */
function uuid(): string {
  return '10000000-1000-4000-8000-100000000000'.replace(/[018]/g, (digit) =>
    (Number(digit) ^ ((crypto.getRandomValues(new Uint8Array(1))[0] as number) & (15 >> (Number(digit) / 4)))).toString(
      16,
    ),
  );
}
