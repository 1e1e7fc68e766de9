import { DEFINITION } from '../platforms/defined/compile.js';
import type { OptionalIdentifier } from '../platforms/optional-identifiers.js';
import type { Platform, Settings } from '../platforms/platform.js';
import type { SettingsAsOf, SiteConnection } from '../sites/connections/connection.js';
import type { Site } from '../sites/site.js';
import { isStillConnected } from './connections/account.js';
import type { DeliveryTerms, OutcomeDetails } from './delivery.js';
import { orderState } from './payload/order.js';
import { buildPayload, type DeliveryPayload, isCorrectedBy, rebuildPayload, settingsAsOf } from './payload/payload.js';
import { ageOf, type ReceivedConversion } from './received-conversion.js';
import { limitsOf, refusalNow } from './refusal.js';
import { type AgeRules, sendableUntilMs } from './retry-schedule.js';

/** What an attempt sends, and how often it was attempted before. */
export interface AttemptTerms extends DeliveryTerms {
  readonly received: ReceivedConversion;
  readonly platform: SiteConnection['platform'];
  readonly attempt: number;
  /**
   * ISO time at which a process that has ended may have sent it. It is not known with which settings of a retry, so this
   * attempt is bound only by the dedup window, and the next ones to what this one sends.
   */
  readonly maybeSentAt?: string | undefined;
  /** The person has opted out since the conversion was decided. `received` is as of that. */
  readonly optedOut?: true;
}

/** A connection that is not disconnected, and its site, as of the attempt. */
export interface AttemptTarget {
  readonly site: Pick<Site, 'settings'>;
  readonly platform: Platform;
  readonly siteConnection: SiteConnection;
}

/** A correction has to wait for its order, at least for this long. */
export interface OrderPending {
  readonly waitMs: number;
}

export const GAVE_UP = { status: 'failed', reason: 'gave_up' } as const;
export const DISCONNECTED = { status: 'failed', reason: 'disconnected' } as const;

/**
 * What an attempt sends, or why it sends nothing. Makes every decision that precedes the queue of the connection, for deliveries and for
 * shadow replays: a check that is made elsewhere would be missing in one of them.
 */
export function decideAttempt(
  terms: AttemptTerms,
  target: AttemptTarget,
  nowMs: number,
  rules: AgeRules,
): DeliveryPayload | OutcomeDetails | OrderPending {
  return refusalOf(terms, target, nowMs, rules) ?? waitOf(terms, target, nowMs) ?? checkedPayload(terms, target);
}

/** The host had another site when the conversion was received: it has no connection of the one that has it now. */
export function isOfEarlierSite({ position }: ReceivedConversion, { since }: Pick<Site, 'since'>): boolean {
  return since !== undefined && position < since;
}

export function attemptUntilMs(
  terms: AttemptTerms,
  target: AttemptTarget,
  rules: AgeRules,
  unknownSince = unknownSinceOf(terms),
): number {
  const age = ageOf(terms.received);
  const limits = limitsOf(terms.received, terms.platform, target.platform, settingsOf(terms, target));
  if (unknownSince === undefined) return sendableUntilMs(age, limits, rules);
  return sendableUntilMs({ ...age, unknownSinceMs: Date.parse(unknownSince) }, limits, rules);
}

export function settingsOf(terms: AttemptTerms, target: AttemptTarget): Settings {
  return settingsAsOf(target.siteConnection, asOfOf(terms, target));
}

/**
 * The digest of the payload without identifiers that the platform refused; undefined if that is not sent: some were left out before, or
 * nothing is left that identifies the person. `refused`: the digest of the refused one.
 */
export function digestWithout(
  terms: AttemptTerms,
  target: AttemptTarget,
  without: readonly OptionalIdentifier[],
  refused: string | undefined,
): string | undefined {
  if (terms.without || !terms.received.personal) return undefined;
  const { withhold } = target.site.settings;
  const payload = buildPayload(terms.received, target.platform, settingsOf(terms, target), {
    ...terms,
    withhold,
    without,
  });
  return 'skip' in payload || payload.bodySha256 === refused ? undefined : payload.bodySha256;
}

export function unknownSinceOf({ unknownSince, maybeSentAt }: AttemptTerms): string | undefined {
  return unknownSince ?? maybeSentAt;
}

/**
 * As of which the settings apply; undefined: as of the receipt. A first attempt uses the settings of the receipt,
 * so that a process that takes over from a crashed one knows what that one may have sent.
 */
export function recordedAsOf(terms: AttemptTerms, target: AttemptTarget | undefined): SettingsAsOf | undefined {
  if (terms.unknownSince !== undefined || !target) return terms.asOf;
  if (terms.attempt === 1) return undefined;
  const { siteConnection } = target;
  // A delivery keeps the version of a definition that it began with.
  const begun = settingsAsOf(siteConnection, terms.asOf ?? terms.received.data);
  return begun[DEFINITION] === siteConnection.settings[DEFINITION]
    ? { siteVersion: siteConnection.version }
    : terms.asOf;
}

function asOfOf(terms: AttemptTerms, target: AttemptTarget): SettingsAsOf {
  return recordedAsOf(terms, target) ?? terms.received.data;
}

function refusalOf(
  terms: AttemptTerms,
  target: AttemptTarget,
  nowMs: number,
  rules: AgeRules,
): OutcomeDetails | undefined {
  const reason = refusalNow(terms.received, target.site.settings, nowMs, {
    sendableUntilMs: () => attemptUntilMs(terms, target, rules),
    takesAnonymous: () => target.platform.takesAnonymous?.(settingsOf(terms, target)) === true,
  });
  if (reason === undefined) return undefined;
  if (reason === 'too_old' && terms.attempt > 1) return GAVE_UP;
  return { status: reason === 'erased' ? 'failed' : 'skipped', reason };
}

/** The outcome of a correction that has to wait for its order, or comes too late. Of a trial nothing is sent. */
function waitOf(terms: AttemptTerms, target: AttemptTarget, nowMs: number): OutcomeDetails | OrderPending | undefined {
  const { received, platform: name } = terms;
  if (received.data.trial || !received.data.correction) return undefined;
  const settings = settingsOf(terms, target);
  if (!isCorrectedBy(target.platform, settings, received)) return undefined;
  const state = orderState(received, name);
  if (typeof state === 'object') return { status: 'skipped', reason: state.skip };
  const { earliestMs = 0 } = limitsOf(received, name, target.platform, settings);
  const waitMs = earliestMs - nowMs;
  return state === 'ready' && waitMs <= 0 ? undefined : { waitMs };
}

function checkedPayload(terms: AttemptTerms, target: AttemptTarget): DeliveryPayload | OutcomeDetails {
  const { received, unknownSince } = terms;
  const { platform, siteConnection } = target;
  const build = unknownSince === undefined ? buildPayload : rebuildPayload;
  const { eventId, payloadVersion, without, platform: name } = terms;
  const { withhold } = target.site.settings;
  const requested = { eventId, payloadVersion, platform: name, withhold, without, bodySha256: terms.bodySha256 };
  const payload = build(received, platform, settingsOf(terms, target), requested);
  if ('skip' in payload) return { status: 'skipped', reason: payload.skip };
  const { bodySha256 } = payload;
  if (unknownSince !== undefined) {
    // What the platform may have accepted is not sent again with less, and not as it was.
    const isLess = terms.optedOut || (received.data.withheld !== undefined && withhold === 'personal');
    if (isLess && terms.bodySha256 !== bodySha256) return { status: 'skipped', reason: 'consent_denied' };
    // Another version of the service may build a different payload. The platform may have the event id with another one.
    if (terms.bodySha256 !== undefined && terms.bodySha256 !== bodySha256)
      return { status: 'failed', reason: 'body_changed', bodySha256 };
    if (!isStillConnected(platform, siteConnection, payload.account, asOfOf(terms, target)))
      return { status: 'failed', reason: 'account_disconnected', bodySha256 };
  }
  return received.data.trial ? { status: 'validated', bodySha256 } : payload;
}
