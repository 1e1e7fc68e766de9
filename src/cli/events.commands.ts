import { type Command, InvalidArgumentError, Option } from 'commander';
import { EventFilter, type FilterOptions } from '../history/event-filter.js';
import { ExportFile } from '../history/export-file.js';
import { FORMATS, type FormatName } from '../history/export-formats.js';
import { redactEvent } from '../history/redact-event.js';
import { runExport } from '../history/run-export.js';
import type { Clock } from '../kernel/clock.js';
import { UserError } from '../kernel/errors.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { FROM_HELP, readBound, TO_HELP } from './bound-argument.js';
import { findByConversion, findByOrder } from './conversion-argument.js';
import { historyText } from './conversion-history-output.js';
import { eventLine, ndjson } from './event-output.js';
import { progressBar } from './output.js';
import { noteRemoved, refuseGap } from './removed-events.js';
import type { CliDependencies, Session } from './session.js';
import { collect, commandGroup, subcommand, UsageError } from './subcommand.js';

const TAIL_EVENTS_DEFAULT = 20;
const TAIL_EVENTS_MAX = 10_000;
const UNRESPONSIVE_AFTER_MS = 5_000;

interface TailOptions extends FilterOptions {
  readonly last: number;
  readonly follow?: true;
  readonly json?: true;
}

interface ExportOptions extends FilterOptions {
  readonly format?: FormatName;
  readonly out?: string;
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

  withFilters(
    subcommand(
      events,
      'export',
      'Export all events, or those that match the filters',
      'events export --from 2025-03-01 --format csv --out march.csv',
    ),
  )
    .addOption(new Option('--format <format>', 'file format; default: ndjson').choices(Object.keys(FORMATS)))
    .option('--out <file>', 'write to a file; running the same command again resumes an interrupted export')
    .action(async (options: ExportOptions) => {
      const { format = 'ndjson', out, json } = options;
      if (format === 'parquet' && out === undefined) {
        throw new UsageError('Parquet requires a file: give it with --out <file>.');
      }
      if (json && format !== 'ndjson' && out === undefined) {
        throw new UsageError(`--json with --format ${format} requires a file: give it with --out <file>.`);
      }
      const dependencies = await session.open();
      const filter = await EventFilter.open(dependencies, options);
      if (out === undefined) await exportToOutput(dependencies, filter, format);
      else {
        const count = await exportToFile(dependencies, filter, out, options);
        await output.show(json, { file: out, format, events: count }, () => `Exported ${count} events to ${out}\n`);
      }
    });

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

  async function exportToOutput({ postgres }: CliDependencies, filter: EventFilter, format: FormatName): Promise<void> {
    await runExport(postgres, filter, {
      format,
      onHold: (hold) => noteRemoved(output, filter, hold),
      write: (bytes) => (bytes.length > 0 ? output.print(bytes) : Promise.resolve()),
      progress: reportProgress(filter, 'Interrupted: the export is incomplete. Run the command again.'),
    });
  }

  async function exportToFile(
    { postgres }: CliDependencies,
    filter: EventFilter,
    out: string,
    { format = 'ndjson', site, type, order, from, to }: ExportOptions,
  ): Promise<number> {
    const file = await ExportFile.open(out, JSON.stringify({ format, site, type, order, from, to }));
    const { resumeFrom } = file;
    if (resumeFrom)
      output.note(
        `Resuming ${out}.part after position ${resumeFrom.position}: it contains ${resumeFrom.events} events.`,
      );
    try {
      return await runExport(postgres, filter, {
        format,
        resumeFrom,
        onHold: (hold) => (resumeFrom ? refuseGap(out, resumeFrom.position, hold) : noteRemoved(output, filter, hold)),
        write: (bytes, checkpoint) => file.write(bytes, checkpoint),
        progress: reportProgress(filter, 'Interrupted. Run the same command again to resume the export.'),
        finish: () => file.finish(),
      });
    } catch (error) {
      await file.close();
      throw error;
    } finally {
      output.endProgress();
    }
  }

  /** Shows the progress of an export, and stops it on Ctrl-C. */
  function reportProgress({ after, until }: EventFilter, interrupted: string) {
    const startedMs = performance.now();
    let before: number | undefined;
    return (events: number, position: number) => {
      if (session.stop.aborted && position < until) throw new UserError(interrupted);
      before ??= events;
      const rate = Math.round(((events - before) / Math.max(1, performance.now() - startedMs)) * 1_000);
      const done = until > after ? Math.min(1, (position - after) / (until - after)) : 1;
      output.progress(
        `${progressBar(done)}  ${events.toLocaleString('en')} events, ${rate.toLocaleString('en')} per second`,
      );
    };
  }

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

function withFilters(command: Command): Command {
  return command
    .option('--site <host>', 'only events of this site (host or alias)')
    .option('--type <type>', 'only events of this type; may be repeated', collect)
    .option('--from <when>', FROM_HELP, readBound)
    .option('--to <when>', TO_HELP, readBound)
    .option('--order <orderId>', 'only events of conversions with this order id');
}

function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count > TAIL_EVENTS_MAX) {
    throw new InvalidArgumentError(`Give a whole number up to ${TAIL_EVENTS_MAX}.`);
  }
  return count;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
