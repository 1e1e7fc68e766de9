import { type BotVerdict, VISITOR, type VisitorEvent } from '../events/visitor.events.js';
import type { EventsOf, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Site } from '../sites/site.js';
import { type BotJudge, siteRulesOf } from './bots/judge.js';
import { inlineOf } from './identifier-record.js';
import { isJudgedBot } from './matcher.js';
import type { NewVisitorEvent } from './visitor.js';

const PAGE_EVENTS = 1_000;
/** `visitor.bot_detected.v1` is not among them: it says what was thought of a visit, and keeps nothing to think it over by. */
const JUDGED = ['visitor.visited.v1', 'visitor.identified.v1'] as const;

export interface RejudgeRequest {
  readonly site: Site;
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly until: number;
  readonly apply: boolean;
}

/** A verdict that is another one now. Says nothing of the person. */
export interface Change {
  readonly position: number;
  readonly time: string;
  readonly type: string;
  readonly before: BotVerdict;
  readonly after: BotVerdict;
  /** Seen from the site's threshold of today. */
  readonly verdict: 'becomes_bot' | 'becomes_person' | 'stays';
}

export interface Rejudgement {
  readonly judged: number;
  /** Of people who asked to be forgotten: nothing is left to judge by. */
  readonly erased: number;
  /** Those that cross the threshold first, then in log order. */
  readonly changes: readonly Change[];
  /** How many of the changes are in the log now. */
  readonly applied: number;
}

/**
 * Judges visits anew, by the list that the judge has and by the site's rules of today, from what was seen of them then.
 * What an earlier look found counts as the verdict before, so a second look at the same finds nothing.
 */
export async function rejudge(
  log: EventLog,
  judge: BotJudge,
  request: RejudgeRequest,
  progress: (looked: number) => void = () => {},
): Promise<Rejudgement> {
  const { site } = request;
  const rules = siteRulesOf(site.settings);
  const earlier = await earlierLooks(log, request);
  const changes: Change[] = [];
  let [judged, erased, applied] = [0, 0, 0];
  for await (const seen of events(log, request, JUDGED)) {
    progress(judged + erased);
    const signals = seen.personal?.signals;
    if (!signals) {
      erased += 1;
      continue;
    }
    judged += 1;
    const before = earlier.get(seen.stream) ?? seen.data.bot;
    const after = judge.judge(signals, rules);
    if (isSame(before, after)) continue;
    const { position, time, type } = seen;
    changes.push({ position, time, type, before, after, verdict: verdictOf(before, after, site) });
    if (request.apply && (await apply(log, seen, before, after, site))) applied += 1;
  }
  const stays = ({ verdict }: Change) => (verdict === 'stays' ? 1 : 0);
  changes.sort((one, other) => stays(one) - stays(other) || one.position - other.position);
  return { judged, erased, changes, applied };
}

/** What has been thought over before, by stream. Only changed verdicts leave such an event, so they are few. */
async function earlierLooks(log: EventLog, { site, after }: RejudgeRequest): Promise<Map<string, BotVerdict>> {
  const found = new Map<string, BotVerdict>();
  const range = { site, after, until: await log.head() };
  for await (const event of events(log, range, ['visitor.rejudged.v1'])) found.set(event.stream, event.data.bot);
  return found;
}

async function* events<Type extends VisitorEvent['type']>(
  log: EventLog,
  { site, after: start, until }: Omit<RejudgeRequest, 'apply'>,
  types: readonly Type[],
): AsyncGenerator<EventsOf<Type>> {
  for (let after = start; ; ) {
    const page = await log.read({ after, until, site: site.host, types, limit: PAGE_EVENTS });
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < PAGE_EVENTS) return;
    after = last.position;
  }
}

/** False when the person was erased, or somebody else judged it, since it was read. */
async function apply(
  log: EventLog,
  seen: StoredEvent,
  before: BotVerdict,
  bot: BotVerdict,
  { host, settings }: Site,
): Promise<boolean> {
  const stream = seen.stream.slice(VISITOR.length + 1);
  const known = await log.readStream(VISITOR, stream);
  const subject = known[0]?.personal?.subject;
  const latest = known.at(-1);
  if (subject === undefined || !latest || !hasVerdict(latest) || !isSame(latest.data.bot, before)) return false;
  const event = {
    type: 'visitor.rejudged.v1',
    data: { bot, mode: settings.botMode, from: before.score, seenAt: seen.time },
    personal: { subject },
  } as const satisfies NewVisitorEvent;
  const inline = inlineOf(event);
  const outcome = await log.append({
    category: VISITOR,
    stream,
    expected: latest.version,
    site: host,
    actor: 'cli',
    events: [{ ...event, inline }],
  });
  return outcome.status === 'appended';
}

function hasVerdict(event: StoredEvent): event is StoredEvent<(typeof JUDGED)[number] | 'visitor.rejudged.v1'> {
  return event.type === 'visitor.rejudged.v1' || JUDGED.some((type) => type === event.type);
}

/** Another version of the list that says the same is no change. */
function isSame(one: BotVerdict, other: BotVerdict): boolean {
  return one.score === other.score && [...one.reasons].sort().join() === [...other.reasons].sort().join();
}

function verdictOf(before: BotVerdict, after: BotVerdict, { settings }: Site): Change['verdict'] {
  const [was, is] = [isJudgedBot(before, settings), isJudgedBot(after, settings)];
  if (was === is) return 'stays';
  return is ? 'becomes_bot' : 'becomes_person';
}
