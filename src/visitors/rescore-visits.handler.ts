import type { ICommandHandler } from '@nestjs/cqrs';
import type { NamedPerson } from '../events/person-keys.js';
import { type BotVerdict, VISITOR, type VisitorEvent, type VisitPersonal } from '../events/visitor.events.js';
import { CommandHandler } from '../kernel/command.js';
import type { EventsOf, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Site } from '../sites/site.js';
import { type BotScorer, siteRulesOf } from './bots/bot-scorer.js';
import { inlineOf } from './identifier-record.js';
import { reachesBotThreshold } from './matcher.js';
import { type RescoreResult, RescoreVisits, type VerdictChange } from './rescore-visits.command.js';
import type { NewVisitorEvent } from './visitor.js';

const PAGE_EVENTS = 1_000;
/** Not `visitor.bot_detected.v1`: it holds a verdict without the signals to score. */
/** A visit that is recorded under its click ids as well (`clicked`) changes there, too, and is listed once. */
const SCORED_TYPES = ['visitor.visited.v1', 'visitor.identified.v1', 'visitor.clicked.v1'] as const;

/**
 * Compares the new verdict of each visit with the latest one, which may come from an earlier rescore. A second run with
 * the same list therefore finds no changes.
 */
@CommandHandler(RescoreVisits)
export class RescoreVisitsHandler implements ICommandHandler<RescoreVisits> {
  constructor(
    private readonly log: EventLog,
    private readonly scorer: BotScorer,
    private readonly onProgress: (visits: number) => void = () => {},
  ) {}

  async execute(command: RescoreVisits): Promise<RescoreResult> {
    const { site } = command;
    const rules = siteRulesOf(site.settings);
    const earlier = await this.rescoredVerdicts(command);
    const changes: VerdictChange[] = [];
    let [judged, erased, applied] = [0, 0, 0];
    for await (const visit of this.events(site, command.after, command.until, SCORED_TYPES)) {
      this.onProgress(judged + erased);
      const signals = visit.personal?.signals;
      const isVisit = visit.type !== 'visitor.clicked.v1';
      if (!signals) {
        if (isVisit) erased += 1;
        continue;
      }
      if (isVisit) judged += 1;
      const before = earlier.get(visit.stream) ?? visit.data.bot;
      const after = this.scorer.score(signals, rules);
      if (isSame(before, after)) continue;
      const { position, time, type } = visit;
      if (type !== 'visitor.clicked.v1')
        changes.push({ position, time, type, before, after, verdict: changeOf(before, after, site) });
      if (command.apply && (await this.append(command, visit, before, after)) && isVisit) applied += 1;
    }
    const stays = ({ verdict }: VerdictChange) => (verdict === 'stays' ? 1 : 0);
    changes.sort((one, other) => stays(one) - stays(other) || one.position - other.position);
    return { judged, erased, changes, applied };
  }

  /** Verdicts of earlier rescores by stream. Only changed verdicts are stored, so they are few. */
  private async rescoredVerdicts({ site, after }: RescoreVisits): Promise<Map<string, BotVerdict>> {
    const verdicts = new Map<string, BotVerdict>();
    const head = await this.log.head();
    for await (const event of this.events(site, after, head, ['visitor.rejudged.v1']))
      verdicts.set(event.stream, event.data.bot);
    return verdicts;
  }

  private async *events<Type extends VisitorEvent['type']>(
    { host }: Site,
    start: number,
    until: number,
    types: readonly Type[],
  ): AsyncGenerator<EventsOf<Type>> {
    for (let after = start; ; ) {
      const page = await this.log.read({ after, until, site: host, types, limit: PAGE_EVENTS });
      yield* page;
      const last = page.at(-1);
      if (!last || page.length < PAGE_EVENTS) return;
      after = last.position;
    }
  }

  /** False when the person was erased or another run changed the verdict since the visit was read. */
  private async append(
    { actor, site: { host, settings } }: RescoreVisits,
    visit: StoredEvent,
    before: BotVerdict,
    bot: BotVerdict,
  ): Promise<boolean> {
    const stream = visit.stream.slice(VISITOR.length + 1);
    const events = await this.log.readStream(VISITOR, stream);
    const [opening] = events;
    const { subject, person } = (opening?.personal ?? {}) as NamedPerson;
    const { known, visitor } = (opening?.personal ?? {}) as Partial<VisitPersonal>;
    const latest = events.at(-1);
    if ((subject ?? person) === undefined || !latest || !hasVerdict(latest) || !isSame(latest.data.bot, before))
      return false;
    const event = {
      type: 'visitor.rejudged.v1',
      data: { bot, mode: settings.botMode, from: before.score, seenAt: visit.time },
      personal: { ...(subject === undefined ? { person } : { subject }), ...(known !== undefined && { visitor }) },
    } as const satisfies NewVisitorEvent;
    const outcome = await this.log.append({
      category: VISITOR,
      stream,
      expected: latest.version,
      site: host,
      actor,
      events: [{ ...event, inline: inlineOf(event) }],
    });
    return outcome.status === 'appended';
  }
}

function hasVerdict(event: StoredEvent): event is StoredEvent<(typeof SCORED_TYPES)[number] | 'visitor.rejudged.v1'> {
  return event.type === 'visitor.rejudged.v1' || SCORED_TYPES.some((type) => type === event.type);
}

/** Ignores the version of the list: a new list that gives the same score and reasons is no change. */
function isSame(one: BotVerdict, other: BotVerdict): boolean {
  return one.score === other.score && [...one.reasons].sort().join() === [...other.reasons].sort().join();
}

function changeOf(before: BotVerdict, after: BotVerdict, { settings }: Site): VerdictChange['verdict'] {
  const [was, is] = [reachesBotThreshold(before, settings), reachesBotThreshold(after, settings)];
  if (was === is) return 'stays';
  return is ? 'becomes_bot' : 'becomes_person';
}
