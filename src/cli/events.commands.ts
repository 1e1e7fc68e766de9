import { type Command, Option } from 'commander';
import { EventFilter, type FilterOptions } from '../history/event-filter.js';
import { redactEvent } from '../history/redact-event.js';
import type { Clock } from '../kernel/clock.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { findByConversion, findByOrder } from './arguments/conversion-argument.js';
import { readCount } from './arguments/count-argument.js';
import { withFilters } from './arguments/filter-options.js';
import { addExport } from './history/export.command.js';
import { historyText } from './output/conversion-history-output.js';
import { eventLine, ndjson } from './output/event-output.js';
import type { Session } from './session.js';
import { commandGroup, subcommand, UsageError } from './subcommand.js';

const TAIL_EVENTS_DEFAULT = 20;
const UNRESPONSIVE_AFTER_MS = 5_000;

interface TailOptions extends FilterOptions {
  readonly last: number;
  readonly follow?: true;
  readonly json?: true;
}

interface ShowOptions {
  readonly order?: string;
  readonly site?: string;
  readonly conversion?: string;
  readonly json?: true;
}

export function addEvents(program: Command, session: Session): void {
  const { output } = session;
  const events = commandGroup(program, 'events', 'Read the events of the log');

  withFilters(
    subcommand(
      events,
      'tail',
      'Show the newest events; with --follow also new ones',
      'events tail --follow --site shop.example',
    ),
  )
    .option('--follow', 'continue until Ctrl-C')
    .option('--last <n>', 'number of events to show first', readCount, TAIL_EVENTS_DEFAULT)
    .action(async (options: TailOptions) => {
      const dependencies = await session.open();
      const { postgres, log } = dependencies;
      const filter = await EventFilter.open(dependencies, options);
      const print = (page: readonly StoredEvent[]) =>
        output.print(options.json ? ndjson(page) : page.map(eventLine).join(''));
      const newest = await filter.last(options.last);
      await print(newest);
      if (options.follow) await follow(log, postgres.clock, filter, print);
      else if (newest.length === 0 && !options.json) output.note('No event matches.');
    });

  addExport(events, session);

  subcommand(
    events,
    'show',
    'Show the history of one conversion with its deliveries',
    'events show --site shop.example --order ORD-1',
  )
    .option('--order <orderId>', "the sender's order id; requires --site")
    .option('--site <host>', 'site of the conversion')
    .addOption(new Option('--conversion <id>', 'id of the conversion').conflicts('order'))
    .action(async ({ order, site, conversion, json }: ShowOptions) => {
      if (conversion === undefined && (order === undefined || site === undefined)) {
        throw new UsageError(
          'Select a conversion with --order <orderId> and --site <host>, or with --conversion <id>.',
        );
      }
      const dependencies = await session.open();
      const host = site === undefined ? undefined : (await dependencies.sites.get(site)).host;
      const history =
        conversion === undefined
          ? await findByOrder(dependencies, host as string, order as string)
          : await findByConversion(dependencies, host, conversion);
      await output.show(json, { ...history, events: history.events.map(redactEvent) }, () => historyText(history));
    });

  /** Until Ctrl-C, until the reader of the output exits, or until no event before `--to` can follow. */
  async function follow(
    log: EventLog,
    clock: Clock,
    filter: EventFilter,
    print: (page: readonly StoredEvent[]) => Promise<void>,
  ): Promise<void> {
    const finished = new AbortController();
    let failure: unknown;
    const follower = await log.follow({ name: 'tail', after: filter.head }, async (page) => {
      if (finished.signal.aborted) return;
      const wanted = page.filter((event) => filter.matches(event));
      try {
        if (wanted.length > 0) await print(wanted);
      } catch (error) {
        failure = error;
        finished.abort();
      }
    });
    let isUnresponsive = false;
    const check = () => {
      if (filter.isComplete(follower.position, clock.nowMs())) finished.abort();
      // The follower waits for a lost database without an error, so it is reported here.
      if (isUnresponsive === follower.ageMs > UNRESPONSIVE_AFTER_MS) return;
      isUnresponsive = !isUnresponsive;
      output.note(
        isUnresponsive
          ? 'The database does not respond. Waiting for it; Ctrl-C stops.'
          : 'The database responds again.',
      );
    };
    const timer = setInterval(check, 1_000);
    check();
    await aborted(AbortSignal.any([session.stop, finished.signal]));
    clearInterval(timer);
    await follower.stop();
    if (failure) throw failure;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
