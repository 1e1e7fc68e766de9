import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { CONVERSION } from '../dispatch/delivery.js';
import { Dispatcher } from '../dispatch/dispatcher.js';
import type { Pinned } from '../dispatch/received.js';
import { answerOf } from '../kernel/patience.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { Claim } from '../log/event.js';
import { EventLog } from '../log/event-log.js';
import type { SiteKey } from '../sites/site.js';
import type { OpenSite } from '../sites/site-directory.js';
import { type ConversionData, type OpeningEvent } from './conversion.js';
import { dedupKey } from './dedup-key.js';
import { dedupWindowOf } from './dedup-window.js';
import { differences } from './differences.js';
import { filterReason } from './filter.js';
import { hashPersonal } from './hash-personal.js';
import type { InboundFields } from './inbound-fields.js';
import { type Receipt, receiptOf } from './receipt.js';

export interface Received {
  readonly conversionId: string;
  /** Of a duplicate: the one it repeats. */
  readonly firstConversionId?: string;
  readonly receipt: Receipt;
}

/** A sender's conversion, authenticated and checked, still with its raw personal values: they go no further than this. */
export class ReceiveConversion extends Command<Received> {
  constructor(
    readonly open: OpenSite,
    readonly key: SiteKey,
    readonly fields: InboundFields,
    readonly dedupWindowMs: number,
  ) {
    super();
  }
}

@CommandHandler(ReceiveConversion)
export class ReceiveConversionHandler implements ICommandHandler<ReceiveConversion> {
  constructor(
    private readonly log: EventLog,
    private readonly dispatcher: Dispatcher,
  ) {}

  async execute(command: ReceiveConversion): Promise<Received> {
    const { open, key } = command;
    const { opening, claim } = decide(command, uuidv7(), this.dispatcher.pin(open));
    const { conversionId } = opening.data;
    const outcome = await this.append(open.site.host, key, opening, claim);
    if (outcome.status === 'appended') {
      const { position, time } = outcome;
      const isReceived = opening.type === 'conversion.received.v1';
      const results = isReceived
        ? await this.dispatcher.dispatch({ site: open.site.host, position, time, ...opening })
        : {};
      return { conversionId, receipt: receiptOf(opening, results) };
    }
    if (outcome.status === 'conflict') throw new Error('A new conversion cannot conflict');

    const firstConversionId = outcome.by;
    const [first] = await answerOf(this.log.readStream(CONVERSION, firstConversionId));
    const { reason, platforms, settings, instance, ...data } = opening.data as ConversionData & { reason?: string };
    const duplicate: OpeningEvent = {
      ...opening,
      type: 'conversion.deduplicated.v1',
      data: { ...data, firstConversionId, differs: differences(first, data, opening.personal) },
    };
    await this.append(open.site.host, key, duplicate);
    return { conversionId, firstConversionId, receipt: receiptOf(duplicate, {}) };
  }

  private append(site: string, key: SiteKey, event: OpeningEvent, claim?: Claim) {
    const stream = event.data.conversionId;
    const actor = `key:${key.id}`;
    const stored = this.log.append({ noun: CONVERSION, stream, expected: 'new', site, actor, events: [event], claim });
    if (event.data.platforms === undefined) return stored;
    return stored.catch((error: unknown) => {
      // It may be in the log all the same, and must then be sent although its sender was told to try again.
      this.dispatcher.doubt();
      throw error;
    });
  }
}

/** What is to be stored, and the key it claims: whether it is a duplicate is for the append itself to say. */
export function decide(
  command: ReceiveConversion,
  conversionId: string,
  pinned: Pinned,
): { opening: OpeningEvent; claim: Claim } {
  const { open, key, fields } = command;
  const { settings } = open.site;
  const personal = hashPersonal(fields, settings.country ?? undefined);
  // What was not sent stays undefined here and absent in the log.
  const data: ConversionData = {
    conversionId,
    event: fields.event,
    value: fields.value,
    currency: fields.currency,
    orderId: fields.orderId,
    keyId: key.id,
    trial: key.trial,
  };
  const reason = filterReason(settings, personal.subject, fields.email);
  const opening: OpeningEvent = reason
    ? { type: 'conversion.filtered.v1', data: { ...data, reason }, personal, reference: fields.orderId }
    : { type: 'conversion.received.v1', data: { ...data, ...pinned }, personal, reference: fields.orderId };
  const claim: Claim = {
    key: dedupKey(open.dedupSecret, data, personal.subject),
    windowMs: dedupWindowOf(settings, command.dedupWindowMs),
    weak: reason !== undefined,
  };
  return { opening, claim };
}
