import { randomUUID } from 'node:crypto';
import { deliveryPlanOf } from '../delivery/delivery-plan.js';
import type { ConversionData, ConversionPersonal, DeliveryPlan, SentIdentifiers } from '../events/conversion.events.js';
import type { AsOf, DedupClaim } from '../log/event.js';
import { filtersBots, type Match, matchAtReceipt, reachesBotThreshold } from '../visitors/matcher.js';
import { withSentConsent } from '../visitors/sent-consent.js';
import { asOfRecord, type VisitorRecord } from '../visitors/visitor-record.js';
import { addressWarning, storedCustom, storedItems, storedText } from './address-digest.js';
import type { OpeningEvent } from './conversion.js';
import { isCorrection } from './correction.js';
import { dedupKey, dedupWindowOf } from './dedup-key.js';
import { filterReason } from './filter.js';
import { fieldsWith, type InboundFields } from './inbound/inbound-field.js';
import type { Person } from './person.js';
import type { ReceiveConversion } from './receive-conversion.command.js';

/** What is appended to the log for a conversion, unless it is a duplicate. */
export interface Decision {
  readonly opening: OpeningEvent;
  readonly claim: DedupClaim;
  /** For the sender; undefined if there are none. */
  readonly warnings: readonly string[] | undefined;
}

/** A decision on what is stored about the person. It is outdated if the log has a newer event about the person. */
export interface CurrentDecision extends Decision {
  readonly asOf: AsOf | undefined;
}

export function decideOnRecord(
  command: ReceiveConversion,
  person: Person,
  record: VisitorRecord,
  conversionId: string,
  nowMs: number,
): CurrentDecision {
  const { loadedSite, fields, rules } = command;
  const found = matchAtReceipt(record, loadedSite.site.settings, nowMs, rules.identifierTtlMs, fields.occurredAt);
  const match = withSentConsent(found, fields.consent);
  return {
    asOf: asOfRecord(record, person.others),
    ...decide(command, person, match, conversionId, deliveryPlanOf(loadedSite), randomUUID()),
  };
}

/** The event to store and its dedup claim. The append decides whether it is a duplicate. */
export function decide(
  command: ReceiveConversion,
  { hashes, subject }: Person,
  match: Match,
  conversionId: string,
  plan: DeliveryPlan,
  payloadKey: string,
): Decision {
  const { loadedSite, key, fields, rules, delivery } = command;
  const { settings } = loadedSite.site;
  const { dedupSecret } = loadedSite;
  const event = storedText(dedupSecret, fields.event);
  const orderId = fields.orderId === undefined ? undefined : storedText(dedupSecret, fields.orderId);
  const items = fields.items && storedItems(dedupSecret, fields.items);
  const eventId = fields.eventId === undefined ? undefined : storedText(dedupSecret, fields.eventId);
  const correction = isCorrection(loadedSite, fields.event) ? true : undefined;
  // Fields that were not sent are undefined here and absent in the log.
  const data: ConversionData = {
    conversionId,
    event,
    value: fields.value,
    currency: fields.currency,
    orderId,
    eventId,
    occurredAt: fields.occurredAt,
    source: fields.source,
    items,
    sentConsent: fields.consent,
    dropped: fieldsWith('dropped', fields),
    unknown: fieldsWith('unknown', fields),
    keyId: key.id,
    trial: key.trial,
    correction,
    delivery: delivery?.data,
  };
  const { visit, bot, isBot, botVisitors } = match;
  const stated = sentPersonal(fields, dedupSecret, match.withheld !== undefined);
  const traceparent = command.trace?.traceparent;
  const named: ConversionPersonal = hashes.subject === undefined ? { person: subject, ...hashes } : hashes;
  const known: ConversionPersonal = stated ? { ...named, ...stated } : named;
  const traced: ConversionPersonal = traceparent === undefined ? known : { ...known, traceparent };
  const personal: ConversionPersonal = delivery ? { ...traced, delivery: delivery.personal } : traced;
  const botData = {
    ...(bot && bot.score > 0 && { bot, ...(reachesBotThreshold(bot, settings) && { judged: true as const }) }),
    ...(botVisitors !== undefined && { botVisitors }),
  };
  // A conversion that was counted must be corrected, whatever the site filters now.
  const reason = correction
    ? undefined
    : (filterReason(settings, hashes.subject, fields.email) ??
      (isBot && filtersBots(settings, fields.orderId) ? 'bot' : undefined));
  const reference = orderId;
  const opening: OpeningEvent = reason
    ? { type: 'conversion.filtered.v1', data: { ...data, ...botData, reason }, personal, reference }
    : {
        type: 'conversion.received.v1',
        data: { ...data, ...matchData(match), ...botData, ...plan },
        // V8 copies an object into a new one that has properties already in a fifth of the time.
        personal: visit ? { payloadKey, visit, ...personal } : { payloadKey, ...personal },
        reference,
      };
  const claim: DedupClaim = {
    key: dedupKey(dedupSecret, data, subject),
    windowMs: dedupWindowOf(settings, rules.dedupWindowMs),
    weak: reason !== undefined,
  };
  const { externalId, custom } = fields;
  const sent = {
    event: fields.event,
    orderId: fields.orderId,
    eventId: fields.eventId,
    externalId,
    custom,
    items: fields.items,
  };
  const stored = { event, orderId, eventId, externalId: stated?.externalId, custom: stated?.custom, items };
  return { opening, claim, warnings: warningsOf(fields.warnings, addressWarning(sent, stored)) };
}

/** As many as fit into a header that every proxy accepts. */
const WARNINGS_MAX = 10;

function warningsOf(fields: InboundFields['warnings'], address: string | undefined): readonly string[] | undefined {
  if (!fields) return address === undefined ? undefined : [address];
  const texts = [...fields.map(({ text }) => text), ...(address === undefined ? [] : [address])];
  return texts.length > WARNINGS_MAX
    ? [...texts.slice(0, WARNINGS_MAX), `${texts.length - WARNINGS_MAX} more warnings`]
    : texts;
}

/** The match without personal data; undefined when there is neither a visit nor a consent. */
function matchData({ visit, consent, withheld, personalization }: Match): Partial<ConversionData> | undefined {
  if (!visit && !withheld && consent === 'unknown' && !personalization) return undefined;
  return {
    ...(visit && { matched: true }),
    consent,
    ...(personalization && { personalization }),
    ...(withheld && { withheld }),
  };
}

/** The fields of the sender only: a duplicate is neither matched nor sent. */
export function sentData(data: ConversionData): ConversionData {
  const { conversionId, event, value, currency, orderId, eventId, occurredAt, source, items, sentConsent } = data;
  const { dropped, unknown, keyId, trial, correction, delivery } = data;
  return {
    ...{ conversionId, event, value, currency, orderId, eventId, occurredAt, source, items, sentConsent },
    ...{ dropped, unknown, keyId, trial, correction, delivery },
  };
}

const NO_FIELDS: Readonly<Partial<InboundFields>> = {};

type SentPersonal = Pick<ConversionPersonal, 'externalId' | 'address' | 'custom' | keyof SentIdentifiers>;

/**
 * The personal fields that are stored as they were sent; undefined if there are none. What is about the customer's visit is left
 * out where consent withholds visits.
 */
function sentPersonal(fields: InboundFields, siteSecret: string, isWithheld: boolean): SentPersonal | undefined {
  const { externalId, address, custom } = fields;
  const { clickIds, ipAddress, userAgent, pageUrl, referrer, cookies, utm } = isWithheld ? NO_FIELDS : fields;
  const isVisit = clickIds || ipAddress || userAgent || pageUrl || referrer || cookies || utm;
  if (!externalId && !address && !custom && !isVisit) return undefined;
  return {
    ...(externalId !== undefined && { externalId: storedText(siteSecret, externalId) }),
    ...(address && { address }),
    ...(custom && { custom: storedCustom(siteSecret, custom) }),
    ...(clickIds && { clickIds }),
    ...(ipAddress !== undefined && { ipAddress }),
    ...(userAgent !== undefined && { userAgent }),
    ...(pageUrl !== undefined && { pageUrl }),
    ...(referrer !== undefined && { referrer }),
    ...(cookies && { cookies }),
    ...(utm && { utm }),
  };
}
