import type { ICommandHandler } from '@nestjs/cqrs';
import { DeliveryService } from '../delivery/delivery.service.js';
import {
  CONVERSION,
  type ConversionData,
  type ConversionPersonal,
  type DeliveryPlan,
} from '../events/conversion.events.js';
import type { Clock } from '../kernel/clock.js';
import { CommandHandler } from '../kernel/command.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { DedupClaim } from '../log/event.js';
import { EventLog } from '../log/event-log.js';
import type { PersonalHashes } from '../platforms/personal-hashes.js';
import type { SiteKey } from '../sites/site.js';
import { filtersBots, type Match, Matcher, matchAtReceipt, reachesBotThreshold } from '../visitors/matcher.js';
import { addressWarning, storedItems, storedText } from './address-digest.js';
import { isOpening, type OpeningEvent } from './conversion.js';
import { isCorrection } from './correction.js';
import { dedupKey, dedupWindowOf } from './dedup-key.js';
import { differences } from './differences.js';
import { filterReason } from './filter.js';
import { hashPersonal } from './hash-personal.js';
import { receiptOf } from './receipt.js';
import { ReceiveConversion, type Received } from './receive-conversion.command.js';
import { sentPersonal } from './sent-personal.js';

@CommandHandler(ReceiveConversion)
export class ReceiveConversionHandler implements ICommandHandler<ReceiveConversion> {
  constructor(
    private readonly log: EventLog,
    private readonly matcher: Matcher,
    private readonly deliveries: DeliveryService,
    private readonly clock: Clock,
  ) {}

  async execute(command: ReceiveConversion): Promise<Received> {
    const { loadedSite, key, fields, rules } = command;
    const { settings } = loadedSite.site;
    const personal = hashPersonal(fields, settings.country ?? undefined);
    const record = await this.matcher.find(loadedSite.site, personal.subject);
    const match = matchAtReceipt(record, settings, this.clock.nowMs(), rules.identifierTtlMs, fields.occurredAt);
    const { opening, claim, warning } = decide(command, personal, match, uuidv7(), this.deliveries.planFor(loadedSite));
    const { conversionId } = opening.data;
    const correction = opening.data.correction === true;
    const outcome = await this.append(loadedSite.site.host, key, opening, claim);
    if (outcome.status === 'appended') {
      const { position, time } = outcome;
      const isReceived = opening.type === 'conversion.received.v1';
      const results = isReceived
        ? await this.deliveries.deliver({ site: loadedSite.site.host, position, time, ...opening })
        : {};
      return { conversionId, receipt: receiptOf(opening, results), correction, ...(warning && { warning }) };
    }
    if (outcome.status === 'conflict') throw new Error('A new conversion cannot conflict');

    const firstConversionId = outcome.by;
    const [first] = await withLogTimeout(this.log.readStream(CONVERSION, firstConversionId));
    const data = sentData(opening.data);
    const duplicate: OpeningEvent = {
      ...opening,
      type: 'conversion.deduplicated.v1',
      data: {
        ...data,
        firstConversionId,
        differs: differences(first && isOpening(first) ? first : undefined, data, opening.personal),
      },
    };
    await this.append(loadedSite.site.host, key, duplicate);
    return {
      ...{ conversionId, firstConversionId, receipt: receiptOf(duplicate, {}), correction },
      ...(warning && { warning }),
    };
  }

  private append(site: string, key: SiteKey, event: OpeningEvent, claim?: DedupClaim) {
    const stream = event.data.conversionId;
    const actor = `key:${key.id}`;
    return this.log.append({
      category: CONVERSION,
      stream,
      expected: 'new',
      site,
      actor,
      events: [event],
      claim,
    });
  }
}

/** The event to store and its dedup claim. The append decides whether it is a duplicate. */
export function decide(
  command: ReceiveConversion,
  hashes: PersonalHashes,
  match: Match,
  conversionId: string,
  plan: DeliveryPlan,
): { opening: OpeningEvent; claim: DedupClaim; warning: string | undefined } {
  const { loadedSite, key, fields, rules } = command;
  const { settings } = loadedSite.site;
  const { dedupSecret } = loadedSite;
  const event = storedText(dedupSecret, fields.event);
  const orderId = fields.orderId === undefined ? undefined : storedText(dedupSecret, fields.orderId);
  const items = fields.items && storedItems(dedupSecret, fields.items);
  const correction = isCorrection(loadedSite, fields.event) ? true : undefined;
  // Fields that were not sent are undefined here and absent in the log.
  const data: ConversionData = {
    conversionId,
    event,
    value: fields.value,
    currency: fields.currency,
    orderId,
    occurredAt: fields.occurredAt,
    source: fields.source,
    items,
    keyId: key.id,
    trial: key.trial,
    correction,
  };
  const { visit, bot, isBot, botVisitors } = match;
  const stated = sentPersonal(fields, dedupSecret, match.withheld !== undefined);
  const personal: ConversionPersonal = stated ? { ...hashes, ...stated } : hashes;
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
        personal: visit ? { ...personal, visit } : personal,
        reference,
      };
  const claim: DedupClaim = {
    key: dedupKey(dedupSecret, data, hashes.subject),
    windowMs: dedupWindowOf(settings, rules.dedupWindowMs),
    weak: reason !== undefined,
  };
  const sent = { event: fields.event, orderId: fields.orderId, externalId: fields.externalId, items: fields.items };
  const stored = { event, orderId, externalId: stated?.externalId, items };
  return { opening, claim, warning: addressWarning(sent, stored) };
}

/** The match without personal data; undefined when there is neither a visit nor a consent. */
function matchData({ visit, consent, withheld }: Match): Partial<ConversionData> | undefined {
  if (!visit && !withheld && consent === 'unknown') return undefined;
  return { ...(visit && { matched: true }), consent, ...(withheld && { withheld }) };
}

/** The fields of the sender only: a duplicate is neither matched nor sent. */
function sentData(data: ConversionData): ConversionData {
  const { conversionId, event, value, currency, orderId, occurredAt, source, items, keyId, trial, correction } = data;
  return { conversionId, event, value, currency, orderId, occurredAt, source, items, keyId, trial, correction };
}
