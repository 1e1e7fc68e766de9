import { type Command, InvalidArgumentError, Option } from 'commander';
import { exportEvents } from '../history/event-export.js';
import { EventFilter, type FilterOptions } from '../history/event-filter.js';
import { ExportFile } from '../history/export-file.js';
import { FORMATS, type FormatName } from '../history/export-formats.js';
import { redactEvent } from '../history/redact-event.js';
import { UserError } from '../kernel/errors.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { readBound } from './bound-argument.js';
import { findByConversion, findByOrder } from './conversion-story.js';
import { storyText } from './conversion-story-output.js';
import { eventLine, ndjson } from './event-output.js';
import { progressBar } from './output.js';
import type { Opened, Session } from './session.js';
import { collect, commandGroup, verb, WrongUsage } from './verb.js';

const SHOWN_AT_FIRST = 20;
const SHOWN_AT_MOST = 10_000;
const SILENT_MS = 5_000;

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
  const events = commandGroup(program, 'events', 'What the log has recorded');

  withFilters(
    verb(
      events,
      'tail',
      'The newest events, and with --follow those that come',
      'events tail --follow --site shop.example',
    ),
  )
    .option('--follow', 'go on until Ctrl-C')
    .option('--last <n>', 'how many of the newest to begin with', readCount, SHOWN_AT_FIRST)
    .action(async (options: TailOptions) => {
      const opened = await session.open();
      const filter = await EventFilter.open(opened.log, opened.sites, options);
      const print = (page: readonly StoredEvent[]) =>
        output.print(options.json ? ndjson(page) : page.map(eventLine).join(''));
      const newest = await filter.last(options.last);
      await print(newest);
      if (options.follow) await follow(opened.log, filter, print);
      else if (newest.length === 0 && !options.json) output.note('There is no such event.');
    });

  withFilters(
    verb(
      events,
      'export',
      'All events, or those that the filters leave',
      'events export --from 2025-03-01 --format csv --out march.csv',
    ),
  )
    .addOption(new Option('--format <format>', 'ndjson unless you say otherwise').choices(Object.keys(FORMATS)))
    .option('--out <file>', 'into a file instead of standard output; the same line again goes on after an interruption')
    .action(async (options: ExportOptions) => {
      const { format = 'ndjson', out, json } = options;
      if (format === 'parquet' && out === undefined) {
        throw new WrongUsage('Parquet goes into a file: name it with --out <file>.');
      }
      if (json && format !== 'ndjson' && out === undefined) {
        throw new WrongUsage(`--json and --format ${format} go together only where the events go into a file (--out).`);
      }
      const opened = await session.open();
      const filter = await EventFilter.open(opened.log, opened.sites, options);
      if (out === undefined) await exportToOutput(opened, filter, format);
      else {
        const count = await exportToFile(opened, filter, out, options);
        await output.show(json, { file: out, format, events: count }, () => `${count} events are in ${out}\n`);
      }
    });

  verb(events, 'show', 'The whole story of one conversion', 'events show --site shop.example --order ORD-1')
    .option('--order <orderId>', "the sender's order number; needs --site")
    .option('--site <host>', 'whose order')
    .addOption(new Option('--conversion <id>', 'the id of the conversion').conflicts('order'))
    .action(async ({ order, site, conversion, json }: ShowOptions) => {
      if (conversion === undefined && (order === undefined || site === undefined)) {
        throw new WrongUsage('Say which conversion: --order <orderId> and --site <host>, or --conversion <id>.');
      }
      const opened = await session.open();
      const host = site === undefined ? undefined : (await opened.sites.get(site)).host;
      const story =
        conversion === undefined
          ? await findByOrder(opened, host as string, order as string)
          : await findByConversion(opened, host, conversion);
      await output.show(json, { ...story, events: story.events.map(redactEvent) }, () => storyText(story));
    });

  async function exportToOutput(opened: Opened, filter: EventFilter, format: FormatName): Promise<void> {
    const client = await opened.postgres.connect('export');
    try {
      const write = (bytes: Uint8Array) => (bytes.length > 0 ? output.print(bytes) : Promise.resolve());
      const progress = watch(filter, 'Interrupted: the export is not complete.');
      await exportEvents({ client, filter, format: FORMATS[format](false), resumeFrom: undefined, write, progress });
    } finally {
      await client.end();
    }
  }

  async function exportToFile(
    opened: Opened,
    filter: EventFilter,
    out: string,
    { format = 'ndjson', site, type, order, from, to }: ExportOptions,
  ): Promise<number> {
    const file = await ExportFile.open(out, JSON.stringify({ format, site, type, order, from, to }));
    const { resumeFrom } = file;
    if (resumeFrom)
      output.note(
        `Going on with ${out}.part after position ${resumeFrom.position}: ${resumeFrom.events} events are in it.`,
      );
    const client = await opened.postgres.connect('export');
    try {
      const events = await exportEvents({
        client,
        filter,
        format: FORMATS[format](resumeFrom !== undefined, resumeFrom?.state),
        resumeFrom,
        write: (bytes, checkpoint) => file.write(bytes, checkpoint),
        progress: watch(filter, 'Interrupted. The same line again goes on where this stopped.'),
      });
      await file.finish();
      return events;
    } catch (error) {
      await file.close();
      throw error;
    } finally {
      output.endProgress();
      await client.end();
    }
  }

  /** Shows how far an export has come, and stops it when the person at the keyboard has had enough. */
  function watch({ after, until }: EventFilter, farewell: string) {
    const startedMs = performance.now();
    let before: number | undefined;
    return (events: number, position: number) => {
      if (session.stop.aborted && position < until) throw new UserError(farewell);
      before ??= events;
      const rate = Math.round(((events - before) / Math.max(1, performance.now() - startedMs)) * 1_000);
      const done = until > after ? Math.min(1, (position - after) / (until - after)) : 1;
      output.progress(
        `${progressBar(done)}  ${events.toLocaleString('en')} events, ${rate.toLocaleString('en')} a second`,
      );
    };
  }

  /** Until Ctrl-C, until nobody reads any more, or until nothing more can come before `--to`. */
  async function follow(
    log: EventLog,
    filter: EventFilter,
    print: (page: readonly StoredEvent[]) => Promise<void>,
  ): Promise<void> {
    const over = new AbortController();
    let failure: unknown;
    const follower = await log.follow({ name: 'tail', after: filter.head }, async (page) => {
      if (over.signal.aborted) return;
      const wanted = page.filter((event) => filter.matches(event));
      try {
        if (wanted.length > 0) await print(wanted);
      } catch (error) {
        failure = error;
        over.abort();
      }
    });
    let isSilent = false;
    const look = () => {
      if (filter.isComplete(follower.position, Date.now())) over.abort();
      // The reader waits for a database that went away; whoever watches should know what they are waiting for.
      if (isSilent === follower.ageMs > SILENT_MS) return;
      isSilent = !isSilent;
      output.note(
        isSilent ? 'The database does not answer. Waiting for it; Ctrl-C ends.' : 'The database answers again.',
      );
    };
    const watch = setInterval(look, 1_000);
    look();
    await aborted(AbortSignal.any([session.stop, over.signal]));
    clearInterval(watch);
    await follower.stop();
    if (failure) throw failure;
  }
}

function withFilters(command: Command): Command {
  return command
    .option('--site <host>', 'only events of this site (an alias will do)')
    .option('--type <type>', 'only events of this type; may be repeated', collect)
    .option('--from <when>', 'from this position or time (UTC unless it says otherwise) on', readBound)
    .option('--to <when>', 'up to, and without, this position or time', readBound)
    .option('--order <orderId>', 'only events of the conversions with this order');
}

function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count > SHOWN_AT_MOST) {
    throw new InvalidArgumentError(`Give a whole number up to ${SHOWN_AT_MOST}.`);
  }
  return count;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
