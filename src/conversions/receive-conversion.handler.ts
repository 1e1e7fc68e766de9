import type { ICommandHandler } from '@nestjs/cqrs';
import type { Results } from '../delivery/delivery.js';
import type { DeliveryService } from '../delivery/delivery.service.js';
import type { ReceivedConversion } from '../delivery/received-conversion.js';
import { CONVERSION } from '../events/conversion.events.js';
import type { Clock } from '../kernel/clock.js';
import { CommandHandler } from '../kernel/command.js';
import { LogUnavailable } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import type { Pause } from '../kernel/turns.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { AppendOutcome, AsOf, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { endWith } from '../tracing/tracing.js';
import { LOOKUPS_MAX, type Matcher } from '../visitors/matcher.js';
import { UNREADABLE, type VisitorRecord } from '../visitors/visitor-record.js';
import { isOpening, type OpeningEvent } from './conversion.js';
import { type CurrentDecision, type Decision, decideOnRecord, sentData } from './decide-conversion.js';
import { differences } from './differences.js';
import { type Person, personOf } from './person.js';
import { receiptOf } from './receipt.js';
import { ConversionKnown, DeliveryOutdated, ReceiveConversion, type Received } from './receive-conversion.command.js';
import { RecentEventIds } from './recent-event-ids.js';
import { withStoredSpelling } from './stored-spelling.js';

/** A conversion that is in the log. */
export interface StoredConversion {
  /** What was stored: received, deduplicated or filtered. */
  readonly opening: OpeningEvent;
  /** The name of the event, if it was sent in another form than the stored one. */
  readonly sentEvent: string | undefined;
  readonly warnings: readonly string[] | undefined;
  /** Present if it is to be delivered. */
  readonly received?: ReceivedConversion;
}

interface Prepared extends CurrentDecision {
  readonly command: ReceiveConversion;
  readonly person: Person;
}

interface Appended {
  /** As it was decided last. */
  readonly prepared: Prepared;
  readonly outcome: Exclude<AppendOutcome, { status: 'stale' }>;
}

/** The first of several conversions that claim the same dedup key. */
interface Claimant {
  readonly stream: string;
  readonly weak: boolean;
  readonly appended: Promise<Appended>;
}

type Settled<Value> = PromiseSettledResult<Value>;

/** By conversion id. */
type Firsts = ReadonlyMap<string, StoredEvent>;

const NO_FIRSTS: Promise<Firsts> = Promise.resolve(new Map());

const NO_PAUSE: Pause = async () => {};

/** Matches conversions with visits and stores them, those of single requests and of batches. Delivers nothing. */
export class ConversionReceiver {
  private readonly eventIds = new RecentEventIds();

  constructor(
    private readonly log: EventLog,
    private readonly matcher: Matcher,
    private readonly clock: Clock,
  ) {}

  /** As `receiveAll` for one, without the promises that several need: most conversions arrive alone. */
  async receive(command: ReceiveConversion): Promise<StoredConversion> {
    const appended = await this.appendCurrent(await this.prepare(command));
    const { outcome } = appended;
    return this.storedOf(appended, outcome.status === 'claimed' ? this.readFirsts([outcome.by]) : NO_FIRSTS);
  }

  /** One result per command. Of conversions with the same dedup key the first in this order counts. */
  async receiveAll(commands: readonly ReceiveConversion[], pause = NO_PAUSE): Promise<Settled<StoredConversion>[]> {
    const preparing: Promise<Prepared>[] = [];
    for (const command of commands) {
      await pause();
      const prepared = this.prepare(command);
      // Handled below: until then it must not count as an unhandled rejection.
      prepared.catch(() => {});
      preparing.push(prepared);
    }
    const prepared = await Promise.allSettled(preparing);
    return this.storeDuplicates(await this.appendAll(prepared));
  }

  /** All in one turn and in order, so that they share commits and none overtakes another. */
  private appendAll(conversions: readonly Settled<Prepared>[]): Promise<Settled<Appended>[]> {
    const claimants = new Map<string, Claimant>();
    return mapSettled(conversions, (prepared) => {
      const { command, opening, claim } = prepared;
      const append = () => this.appendCurrent(prepared);
      const key = `${command.loadedSite.site.host} ${claim.key}`;
      const earlier = claimants.get(key);
      if (earlier && isDecidedBy(earlier, claim)) return outcomeAfter(earlier, prepared, append);
      const appended = append();
      claimants.set(key, { stream: opening.data.conversionId, weak: claim.weak, appended });
      return appended;
    });
  }

  /** Looks the person up again when the log has a newer event about the person than the look-up has seen. */
  private async appendCurrent(first: Prepared): Promise<Appended> {
    let prepared = first;
    for (let lookups = 1; ; lookups += 1) {
      const { command, person, opening, claim, asOf } = prepared;
      const readAt = command.delivery?.readAt;
      const outcome = await this.append(command, opening, claim, readAt === undefined ? asOf : asRead(asOf, readAt));
      if (outcome.status === 'stale' && readAt !== undefined) throw new DeliveryOutdated();
      if (outcome.status !== 'stale') return { prepared, outcome };
      const { site } = command.loadedSite;
      const record = lookups < LOOKUPS_MAX ? await this.matcher.find(site, person) : UNREADABLE;
      prepared = this.decide(command, person, record, opening.data.conversionId);
    }
  }

  private async prepare(sent: ReceiveConversion): Promise<Prepared> {
    const command = sent.fields.sent ? await withLogTimeout(withStoredSpelling(this.log, sent)) : sent;
    const { site } = command.loadedSite;
    const person = personOf(command.fields, command.loadedSite);
    const record = this.matcher.absent(site, person) ?? (await this.matcher.find(site, person));
    return this.decide(command, person, record, command.delivery?.conversionId ?? uuidv7());
  }

  private decide(command: ReceiveConversion, person: Person, record: VisitorRecord, id: string): Prepared {
    return { command, person, ...decideOnRecord(command, person, record, id, this.clock.nowMs()) };
  }

  /** Replaces those whose dedup key an earlier conversion holds by duplicates, which are stored as well. */
  private async storeDuplicates(appended: readonly Settled<Appended>[]): Promise<Settled<StoredConversion>[]> {
    const holders = new Set<string>();
    for (const each of appended)
      if (each.status === 'fulfilled' && each.value.outcome.status === 'claimed') holders.add(each.value.outcome.by);
    const firsts = holders.size === 0 ? NO_FIRSTS : this.readFirsts([...holders]);
    return mapSettled(appended, (each) => this.storedOf(each, firsts));
  }

  /** `firsts`: the conversions that hold the dedup keys of duplicates. */
  private async storedOf({ prepared, outcome }: Appended, firsts: Promise<Firsts>): Promise<StoredConversion> {
    const { command, opening, warnings } = prepared;
    const { fields } = command;
    const sentEvent = fields.event === opening.data.event ? fields.sent?.event : undefined;
    if (outcome.status === 'conflict') throw new ConversionKnown(opening.data.conversionId);
    if (outcome.status === 'appended') {
      const { position, time } = outcome;
      const { host } = command.loadedSite.site;
      if (opening.type !== 'conversion.received.v1') return { opening, sentEvent, warnings };
      const repeated = this.eventIds.warningFor(host, opening.data);
      return {
        opening,
        sentEvent,
        warnings: repeated === undefined ? warnings : [...(warnings ?? []), repeated],
        received: { site: host, position, time, ...opening, span: command.trace?.span },
      };
    }
    const duplicate = duplicateOf(opening, outcome.by, (await firsts).get(outcome.by));
    const repeated = await this.append(command, duplicate);
    if (repeated.status === 'conflict') throw new ConversionKnown(opening.data.conversionId);
    return { opening: duplicate, sentEvent, warnings };
  }

  private async readFirsts(ids: readonly string[]): Promise<Firsts> {
    const openings = await withLogTimeout(this.log.readOpenings(CONVERSION, ids));
    return new Map(openings.map((event) => [event.stream.slice(CONVERSION.length + 1), event]));
  }

  private append(command: ReceiveConversion, event: OpeningEvent, claim?: Decision['claim'], asOf?: AsOf) {
    const { loadedSite, key, trace } = command;
    const span = trace?.span?.child({ name: 'append', kind: 'internal', attributes: { 'cc.event.type': event.type } });
    const appended = this.log.append({
      category: CONVERSION,
      stream: event.data.conversionId,
      // A derived id may be stored already.
      expected: command.delivery ? 0 : 'new',
      site: loadedSite.site.host,
      actor: `key:${key.id}`,
      events: [event],
      claim,
      asOf,
    });
    return span ? endWith(span, appended) : appended;
  }
}

/** Stores one conversion and waits for its deliveries, unless the sender of a webhook waits for the answer. */
@CommandHandler(ReceiveConversion)
export class ReceiveConversionHandler implements ICommandHandler<ReceiveConversion> {
  constructor(
    private readonly receiver: ConversionReceiver,
    private readonly deliveries: DeliveryService,
  ) {}

  async execute(command: ReceiveConversion): Promise<Received> {
    const stored = await this.receiver.receive(command);
    const { received } = stored;
    if (!received) return receivedOf(stored, {});
    return receivedOf(
      stored,
      command.delivery ? this.deliveries.queue(received) : await this.deliveries.deliver(received),
    );
  }
}

/** The answer to the sender. */
export function receivedOf({ opening, sentEvent, warnings }: StoredConversion, results: Results): Received {
  const { data } = opening;
  const receipt = receiptOf(opening, results, sentEvent);
  const first = 'firstConversionId' in data ? { firstConversionId: data.firstConversionId } : undefined;
  const { conversionId, correction } = data;
  return { conversionId, ...first, receipt, ...(correction && { correction }), ...(warnings && { warnings }) };
}

/** Without the visit: a duplicate is not matched, and the visit may have been erased since the look-up. */
export function duplicateOf(
  opening: OpeningEvent,
  firstConversionId: string,
  first: StoredEvent | undefined,
): OpeningEvent {
  const data = sentData(opening.data);
  const { visit: _, payloadKey: __, ...personal } = opening.personal;
  const differs = differences(first && isOpening(first) ? first : undefined, data, personal);
  return { ...opening, type: 'conversion.deduplicated.v1', data: { ...data, firstConversionId, differs }, personal };
}

/** Any erasure since then makes it outdated: its event has no subject. */
function asRead(asOf: AsOf | undefined, readAt: number): AsOf {
  return { ...asOf, position: Math.min(asOf?.position ?? readAt, readAt), found: true };
}

/** Whether the claim is refused if the earlier one is stored, and otherwise for the same reason. */
function isDecidedBy(earlier: Claimant, { weak, windowMs }: Decision['claim']): boolean {
  return windowMs > 0 && (weak || !earlier.weak);
}

/** The log stores one claim of a key per commit: hundreds of them would take longer than an append may wait. */
async function outcomeAfter(
  { stream, appended }: Claimant,
  prepared: Prepared,
  append: () => Promise<Appended>,
): Promise<Appended> {
  try {
    const { outcome } = await appended;
    return { prepared, outcome: outcome.status === 'appended' ? { status: 'claimed', by: stream } : outcome };
  } catch (error) {
    if (error instanceof LogUnavailable) throw error;
    // The log refused the earlier one for good, which says nothing about this one.
    return append();
  }
}

/** Maps the fulfilled ones, in order, and keeps the others. */
function mapSettled<From, To>(
  settled: readonly Settled<From>[],
  map: (value: From) => Promise<To>,
): Promise<Settled<To>[]> {
  return Promise.allSettled(
    settled.map((each) => (each.status === 'fulfilled' ? map(each.value) : Promise.reject(each.reason))),
  );
}
