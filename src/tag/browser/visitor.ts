import { addRegions, type Consent, consentStatus, type DefaultRegions, deniedFields, parseConsent } from './consent.js';
import { hashEmail, isEmail, normaliseEmail } from './email.js';
import { type Landing, parseLanding, sanitiseUrl } from './landing.js';
import { attempt, guarded } from './page.js';
import { parsePlatformCookies } from './platform-cookies.js';
import { post } from './post.js';
import { signals } from './signals.js';
import { type Decision, eraseRecord, latestDecision, readRecord, storeDecision, storeRecord } from './storage.js';
import { addCookieClicks, addLanding, dropExpired, emptyRecord, mergeRecords, type Touch } from './visitor-record.js';

const VISIT_MS = 30 * 60_000;
const DENIED: Consent = { ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied' };
const NO_LANDING = '{"ids":{},"utm":{}}';

let decision: Decision = { consent: {}, at: 0, deniedAt: 0 };
/** Fields that the page denies by default, until the visitor decides. */
const defaultDenials: Consent = {};
/** The service, which may know where the visitor is, applies them. */
const defaultRegions: DefaultRegions = {};
/** Exists in memory only while the visitor's consent is missing where it is required, and after a denial. */
let record = emptyRecord();
/** Landings not yet added to the record. */
const pendingLandings: [landing: Landing, touch: Touch, isArrival: boolean][] = [];
/** Identified emails not yet sent. */
const pendingIdentities: [hash: string, submission: object][] = [];
/** Timer of the next collect message, 0 if none is pending. */
let collectTimer = 0;
let isReady = false;
/** Consent managers on the page that have not stated the visitor's decision yet. */
let undecidedManagers = 0;
/** One of them has shown its banner. */
let isAsked = false;
let hasChanged = false;

/** Starts storing and sending. Runs after the calls queued by the snippet, so that a queued denial is applied first. */
export function begin(): void {
  if (isReady) return;
  isReady = true;
  reconcile();
}

/** The page is being left: send now what waits for a timer. */
export function flush(): void {
  begin();
  collect();
}

export function recordLanding(isArrival: boolean): void {
  const landing = parseLanding(location.href, NAMES.clicks);
  const touch = { t: Date.now(), ...pageUrls(), utm: landing.utm };
  // Without consent the queue is not drained. Skip empty landings to keep it short on a page that navigates often.
  if (!pendingLandings.length || JSON.stringify(landing) !== NO_LANDING)
    pendingLandings.push([landing, touch, isArrival]);
  reconcile();
}

export function applyConsent(input: unknown, isDefault?: boolean): void {
  decision = latestDecision(decision);
  if (isDefault) {
    const defaults = parseConsent(input);
    Object.assign(defaultDenials, deniedFields(defaults));
    addRegions(defaultRegions, consentStatus(defaults), ((input || {}) as { region?: unknown }).region);
    return;
  }
  const consent = { ...decision.consent, ...parseConsent(input) };
  // Consent managers repeat an unchanged decision on every page.
  if (JSON.stringify(consent) === JSON.stringify(decision.consent)) return;
  decision = { consent, at: Date.now(), deniedAt: decision.deniedAt, id: decision.id || uuid() };
  storeDecision(decision);
  hasChanged = true;
  reconcile();
}

/** Nothing new is stored until the manager has said what the visitor decided. A stored grant stays valid meanwhile. */
export function awaitManager(): void {
  undecidedManagers += 1;
}

export function applyManagerConsent(consent: Consent, isFirst: boolean): void {
  if (isFirst) undecidedManagers -= 1;
  applyConsent(consent);
  reconcile();
}

/** Until the visitor decides, a banner denies as the default of a page does. */
export function askedByManager(): void {
  if (isAsked) return;
  isAsked = true;
  if (!CONFIG.required && !isOptedOut()) for (const [hash] of pendingIdentities) reportRefusal(hash);
}

/** The address never leaves this function: only its hash is stored and sent. */
export function identify(email: unknown, submission: object = { identifiedBy: 'call' }): void {
  const address = normaliseEmail(String(email));
  if (!isEmail(address) || !crypto.subtle) return;
  hashEmail(address).then(
    guarded((hash) => {
      reload();
      record.hash = hash;
      record.hashed = Date.now();
      record.seen = record.seen || record.hashed;
      pendingIdentities.push([hash, submission]);
      if (!CONFIG.required) reportRefusal(hash);
      reconcile();
    }),
    () => {},
  );
}

/**
 * Reports by hash, because the service may know the person from another device, that the visitor has opted out, or that the page
 * denies by default and the visitor has not decided. A default is no opt-out: a later decision of the visitor replaces it.
 */
function reportRefusal(hash: string): void {
  const consent = currentConsent();
  if (isOptedOut()) post('consent', { v: 1, hash, consent, statement: decision.id });
  else if (isDeniedByDefault())
    post('consent', {
      v: 1,
      hash,
      consent: { ...consent, undecided: true },
      // A banner is shown to this visitor, wherever that is.
      defaultRegions: isAskedNow() ? undefined : defaultRegions,
    });
}

/** Makes storage and service match the visitor's current consent. */
export function reconcile(): void {
  if (!isReady) return;
  reload();
  if (isOptedOut()) withdraw();
  else if (mayStore()) {
    updateVisit();
    for (const pending of pendingIdentities.splice(0)) sendIdentify(...pending);
    if (hasChanged && record.hash) post('consent', consentMessage());
  }
  hasChanged = false;
}

function updateVisit(): void {
  const now = Date.now();
  let isNew = !record.visit || now - record.seen > VISIT_MS;
  for (const pending of pendingLandings.splice(0)) isNew = addLanding(record, ...pending) || isNew;
  addCookieClicks(record, platformCookies(), CONFIG.days, now);
  record.visitor = record.visitor || uuid();
  if (isNew) record.visit = uuid();
  record.seen = now;
  storeRecord(record, CONFIG.days);
  // In a separate task: reading the signals is slow on a slow phone.
  if (isNew && !collectTimer) collectTimer = window.setTimeout(guarded(collect));
}

function collect(): void {
  if (collectTimer && mayStore()) post('collect', message({}));
  collectTimer = 0;
}

function sendIdentify(hash: string, submission: object): void {
  record.hash = hash;
  const content = JSON.stringify([hash, record.visit, record.clicks, platformCookies()]);
  const checksum = Array.from(content).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) | 0, 0);
  if (checksum === record.told) return;
  record.told = checksum;
  storeRecord(record, CONFIG.days);
  post('identify', message(submission));
}

function withdraw(): void {
  const now = Date.now();
  record = mergeRecords(readRecord(CONFIG.days, decision.deniedAt, now), record);
  eraseRecord();
  if (record.visitor || (hasChanged && record.hash && !CONFIG.required)) post('consent', consentMessage());
  if (record.visitor || hasChanged) {
    decision.deniedAt = now;
    storeDecision(decision);
  }
  // Clicks and hash stay in memory: the visitor may grant consent again on this page.
  Object.assign(record, { visitor: '', visit: '', told: 0, seen: now });
}

/** Another page of the site may have changed the stored decision and record. */
function reload(): void {
  const now = Date.now();
  decision = latestDecision(decision);
  record = dropExpired(record, CONFIG.days, decision.deniedAt, now);
  if (mayStore()) record = mergeRecords(readRecord(CONFIG.days, decision.deniedAt, now), record);
}

function mayStore(): boolean {
  const status = consentStatus(withDenials());
  return !hasGpc() && (status === 'granted' || (status === 'unknown' && !CONFIG.required && !undecidedManagers));
}

/** Of a visitor who has not opted out. */
function isDeniedByDefault(): boolean {
  return consentStatus(withDenials()) === 'denied';
}

function isAskedNow(): boolean {
  return isAsked && undecidedManagers > 0;
}

/** The visitor's decision, and in the fields without one what the page denies meanwhile. */
function withDenials(): Consent {
  return { ...defaultDenials, ...(isAskedNow() && DENIED), ...decision.consent };
}

/** Only the visitor's own decision counts: a page's default delays storing, but erases nothing. */
function isOptedOut(): boolean {
  return hasGpc() || consentStatus(decision.consent) === 'denied';
}

function hasGpc(): boolean {
  return !!(navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl;
}

function currentConsent(): object | undefined {
  const consent = withDenials();
  const gpc = hasGpc() && { ...DENIED, gpc: true };
  return gpc || JSON.stringify(consent) !== '{}' ? { ...consent, ...gpc } : undefined;
}

function consentMessage() {
  const { visitor, visit, hash, clicks } = record;
  return {
    v: 1,
    visitor: visitor || undefined,
    visit: visit || undefined,
    hash,
    consent: currentConsent(),
    statement: decision.id,
    clicks: CONFIG.clicks && clicks,
  };
}

function message(submission: object) {
  const { clicks, utm, first } = record;
  return {
    ...consentMessage(),
    ...pageUrls(),
    clicks,
    utm,
    first,
    cookies: platformCookies().cookies,
    signals: { ...signals(), ...submission },
  };
}

function pageUrls() {
  return { page: sanitiseUrl(location.href), referrer: sanitiseUrl(document.referrer) || undefined };
}

function platformCookies() {
  return parsePlatformCookies(attempt(() => document.cookie) || '', NAMES.cookies, NAMES.clickCookies);
}

/** Version 4. `crypto.randomUUID` is missing on plain http and in older browsers. */
function uuid(): string {
  return '10000000-1000-4000-8000-100000000000'.replace(/[018]/g, (digit) =>
    (Number(digit) ^ ((crypto.getRandomValues(new Uint8Array(1))[0] as number) & (15 >> (Number(digit) / 4)))).toString(
      16,
    ),
  );
}
