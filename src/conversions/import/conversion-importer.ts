import { CONVERSION } from '../../events/conversion.events.js';
import type { Clock } from '../../kernel/clock.js';
import type { Actor } from '../../kernel/command.js';
import { LogUnavailable, messageOf } from '../../kernel/errors.js';
import { withLogTimeout } from '../../kernel/log-timeout.js';
import { derivedUuid, uuidv7 } from '../../kernel/uuid.js';
import type { AppendOutcome, AsOf, DedupClaim, Opened } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import { LOOKUPS_MAX, type Matcher } from '../../visitors/matcher.js';
import { UNREADABLE, type VisitorRecord } from '../../visitors/visitor-record.js';
import { storedText } from '../address-digest.js';
import type { OpeningEvent } from '../conversion.js';
import { correctionProblem, isCorrection } from '../correction.js';
import { type CurrentDecision, decideOnRecord } from '../decide-conversion.js';
import { dedupKey } from '../dedup-key.js';
import { type Person, personOf } from '../person.js';
import type { ReceiveConversion } from '../receive-conversion.command.js';
import { duplicateOf } from '../receive-conversion.handler.js';
import { withStoredSpelling } from '../stored-spelling.js';

export type LineOutcome = 'accepted' | 'deduplicated' | 'filtered' | { readonly rejected: string };

export interface ImporterDependencies {
  readonly actor: Actor;
  readonly log: Pick<EventLog, 'append' | 'find' | 'findOpened' | 'readOpenings'>;
  readonly matcher: Pick<Matcher, 'absent' | 'find'>;
  readonly clock: Clock;
  /** Waits before the log is tried again. Rejects when the import is interrupted. */
  pause(round: number, error: LogUnavailable): Promise<void>;
}

/** A visitor record that cannot be read is read again this often: a conversion without its click is worth less. */
const UNREADABLE_ROUNDS = 5;
const FILTERED = 'conversion.filtered.v1';

interface Line {
  readonly command: ReceiveConversion;
  readonly person: Person;
  id: string;
  /** Id of the line's event: tells what an append without an answer has stored from what another import has. */
  readonly eventId: string;
  /** The log has refused the event because the id is stored. */
  isStored?: true;
  /** How many of its decisions the log has refused, because it has a newer event about the person. */
  stale: number;
  outcome?: LineOutcome;
}

interface Decision extends CurrentDecision {
  readonly line: Line;
}

/**
 * Stores conversions under ids that are derived from them, so that each is stored once however often it is imported. Deliveries
 * are left to the service, which finds them in the log.
 */
export class ConversionImporter {
  /** Ids of lines that are being stored, so that a second such line in the file is a duplicate. */
  private readonly inFlight = new Set<string>();

  constructor(private readonly dependencies: ImporterDependencies) {}

  /** One outcome per conversion. While the log is unavailable it waits; `pause` ends that by throwing. */
  async store(commands: readonly ReceiveConversion[]): Promise<LineOutcome[]> {
    const lines = (await this.withStoredSpellings(commands)).map((command) => this.toLine(command));
    const own: Line[] = [];
    for (const line of lines) {
      const problem = correctionProblem(line.command.loadedSite, line.command.fields);
      if (problem !== undefined) line.outcome = { rejected: problem };
      else if (this.inFlight.has(line.id)) line.outcome = 'deduplicated';
      else {
        this.inFlight.add(line.id);
        own.push(line);
      }
    }
    const ids = own.map(({ id }) => id);
    try {
      await this.storeAll(own);
    } finally {
      for (const id of ids) this.inFlight.delete(id);
    }
    return lines.map(({ outcome }) => outcome as LineOutcome);
  }

  private async withStoredSpellings(commands: readonly ReceiveConversion[]): Promise<readonly ReceiveConversion[]> {
    if (!commands.some(({ fields }) => fields.sent)) return commands;
    const { log, pause } = this.dependencies;
    for (let round = 0; ; round += 1) {
      try {
        return await withLogTimeout(Promise.all(commands.map((command) => withStoredSpelling(log, command))));
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
        await pause(round, error);
      }
    }
  }

  private toLine(command: ReceiveConversion): Line {
    const person = personOf(command.fields, command.loadedSite);
    return { command, person, id: lineId(command, person), eventId: uuidv7(), stale: 0 };
  }

  private async storeAll(lines: readonly Line[]): Promise<void> {
    for (let round = 0; ; round += 1) {
      const open = lines.filter(({ outcome }) => outcome === undefined);
      if (open.length === 0) return;
      try {
        await this.tryAll(open, round < UNREADABLE_ROUNDS);
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
        await this.dependencies.pause(round, error);
      }
    }
  }

  private async tryAll(lines: readonly Line[], requiresRecords: boolean): Promise<void> {
    const { log } = this.dependencies;
    const find = (ids: readonly string[]) => withLogTimeout(log.findOpened(CONVERSION, ids));
    const opened = await find(lines.map(({ id }) => id));
    for (const line of lines) {
      const stored = opened.get(line.id) ?? (line.isStored && {});
      if (stored && stored.type !== FILTERED) line.outcome = outcomeOf(line, stored);
    }
    const undecided = lines.filter(({ outcome }) => outcome === undefined);
    const decided = await Promise.all(undecided.map((line) => this.decide(line, requiresRecords)));
    const wasFiltered = decided.filter(({ line }) => opened.has(line.id));
    const decisions = decided.filter(({ line }) => !opened.has(line.id));
    if (wasFiltered.length > 0) decisions.push(...(await this.decideAgain(wasFiltered, opened, find, requiresRecords)));
    const results = await Promise.allSettled(decisions.map((decision) => this.append(decision)));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
  }

  /** Lines that were filtered when they were imported before, and may not be any more. */
  private async decideAgain(
    decisions: readonly Decision[],
    filtered: ReadonlyMap<string, Opened>,
    find: (ids: readonly string[]) => Promise<Map<string, Opened>>,
    requiresRecords: boolean,
  ): Promise<Decision[]> {
    const counted: Line[] = [];
    for (const { line, opening } of decisions) {
      const stored = filtered.get(line.id) as Opened;
      // Stored by this import: decided once.
      if (opening.type === FILTERED || stored.id === line.eventId) line.outcome = outcomeOf(line, stored);
      else {
        line.id = lineId(line.command, line.person, true);
        counted.push(line);
      }
    }
    const opened = await find(counted.map(({ id }) => id));
    for (const line of counted) {
      const stored = opened.get(line.id);
      if (stored) line.outcome = outcomeOf(line, stored);
    }
    const open = counted.filter(({ outcome }) => outcome === undefined);
    return Promise.all(open.map((line) => this.decide(line, requiresRecords)));
  }

  private async decide(line: Line, requiresRecord: boolean): Promise<Decision> {
    const { clock } = this.dependencies;
    const { command, person, id } = line;
    const record = await this.recordOf(line, requiresRecord);
    return { line, ...decideOnRecord(command, person, record, id, clock.nowMs()) };
  }

  private async recordOf({ command, person, stale }: Line, requiresRecord: boolean): Promise<VisitorRecord> {
    if (stale >= LOOKUPS_MAX) return UNREADABLE;
    const { matcher } = this.dependencies;
    const { site } = command.loadedSite;
    const absent = stale === 0 ? matcher.absent(site, person) : undefined;
    const record = absent ?? (await matcher.find(site, person));
    if (record.consent === 'unreadable' && requiresRecord)
      throw new LogUnavailable('The visitor records cannot be read');
    return record;
  }

  private async append({ line, opening, claim, asOf }: Decision): Promise<void> {
    const outcome = await this.appendTo(line, opening, claim, asOf);
    if (outcome === undefined) return;
    // Decided again in the next round.
    if (outcome.status === 'stale') line.stale += 1;
    else if (outcome.status === 'appended') line.outcome = opening.type === FILTERED ? 'filtered' : 'accepted';
    // By an append that had no answer, or by another import of the same line: the next round finds it.
    else if (outcome.status === 'conflict' || outcome.by === line.id) line.isStored = true;
    else await this.appendDuplicate(line, opening, outcome.by);
  }

  /** For a conversion posted within the dedup window. The event gets the id of the line: the line stays a duplicate. */
  private async appendDuplicate(line: Line, opening: OpeningEvent, firstConversionId: string): Promise<void> {
    const [first] = await withLogTimeout(this.dependencies.log.readOpenings(CONVERSION, [firstConversionId]));
    const duplicate = duplicateOf(opening, firstConversionId, first);
    if (await this.appendTo(line, duplicate)) line.outcome = 'deduplicated';
  }

  /** Undefined if the log refuses the event, which then has an outcome. */
  private async appendTo(
    line: Line,
    event: OpeningEvent,
    claim?: DedupClaim,
    asOf?: AsOf,
  ): Promise<AppendOutcome | undefined> {
    try {
      return await this.dependencies.log.append({
        category: CONVERSION,
        stream: line.id,
        expected: 'new',
        site: line.command.loadedSite.site.host,
        actor: this.dependencies.actor,
        events: [event],
        ids: [line.eventId],
        claim,
        asOf,
      });
    } catch (error) {
      if (error instanceof LogUnavailable) throw error;
      line.outcome = { rejected: messageOf(error) };
      return undefined;
    }
  }
}

/** Outcome of a line whose id is stored already, with this first event. */
function outcomeOf({ eventId }: Line, { id, type }: Opened): LineOutcome {
  if (id !== eventId || type === 'conversion.deduplicated.v1') return 'deduplicated';
  return type === FILTERED ? 'filtered' : 'accepted';
}

/**
 * The conversion id of an imported line, derived from its dedup key: a line that means the same conversion has the same id
 * whenever it is imported, so that the log itself tells what was imported. Keyed with the site's secret, as the dedup key is.
 * A line that was filtered the first time has another id when it is not filtered any more.
 */
function lineId({ loadedSite, key, fields }: ReceiveConversion, { subject }: Person, afterFilter = false): string {
  const { dedupSecret } = loadedSite;
  const { event, orderId, value, currency, occurredAt } = fields;
  const conversion = {
    trial: key.trial,
    event: storedText(dedupSecret, event),
    orderId: orderId === undefined ? undefined : storedText(dedupSecret, orderId),
    value,
    currency,
    occurredAt,
    correction: isCorrection(loadedSite, event) || undefined,
  };
  const name = `imported ${dedupSecret} ${dedupKey(dedupSecret, conversion, subject)}`;
  return derivedUuid(afterFilter ? `${name} after filter` : name);
}
