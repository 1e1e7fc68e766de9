import { type Command, InvalidArgumentError, Option } from 'commander';
import { UserError } from '../kernel/errors.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { findByConversion, findByOrder } from './conversion-story.js';
import { storyText } from './conversion-story-output.js';
import { EventFilter, type FilterOptions, readBound } from './event-filter.js';
import { eventLine, FORMATS, type Format, ndjson, shown } from './event-output.js';
import { writeFileWhole } from './export-file.js';
import type { Session } from './session.js';
import { collect, noun, verb, WrongUsage } from './verb.js';

const SHOWN_AT_FIRST = 20;
const SHOWN_AT_MOST = 10_000;
const SILENT_MS = 5_000;

interface TailOptions extends FilterOptions {
  readonly last: number;
  readonly follow?: true;
  readonly json?: true;
}

interface ExportOptions extends FilterOptions {
  readonly format?: Format | 'parquet';
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
  const events = noun(program, 'events', 'What the log has recorded');

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
      const filter = await EventFilter.open(opened, options);
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
    .addOption(
      new Option('--format <format>', 'ndjson unless you say csv').choices([...Object.keys(FORMATS), 'parquet']),
    )
    .option('--out <file>', 'into a file instead of standard output')
    .action(async (options: ExportOptions) => {
      const { format = 'ndjson', out, json } = options;
      if (format === 'parquet') {
        throw new UserError('Parquet is not available yet. Choose --format ndjson or --format csv.');
      }
      if (json && format !== 'ndjson' && out === undefined) {
        throw new WrongUsage(`--json and --format ${format} go together only where the events go into a file (--out).`);
      }
      const opened = await session.open();
      const filter = await EventFilter.open(opened, options);
      if (out === undefined) {
        await exportTo(filter, format, (text) => output.print(text));
        return;
      }
      let count = 0;
      await writeFileWhole(out, async (write) => {
        count = await exportTo(filter, format, write);
      });
      await output.show(json, { file: out, format, events: count }, () => `${count} events are in ${out}\n`);
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
      await output.show(json, { ...story, events: story.events.map(shown) }, () => storyText(story));
    });

  async function exportTo(
    filter: EventFilter,
    format: Format,
    write: (text: string) => Promise<void>,
  ): Promise<number> {
    let count = 0;
    let isFirst = true;
    for await (const page of filter.pages()) {
      if (session.stop.aborted) throw new UserError('Interrupted: the export is not complete.');
      const text = FORMATS[format](page, isFirst);
      if (text !== '') await write(text);
      isFirst = false;
      count += page.length;
      output.progress(`${count} events, at position ${page.at(-1)?.position ?? filter.head} of ${filter.head}`);
    }
    output.endProgress();
    return count;
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
      const wanted = page.filter((event) => filter.isWanted(event));
      try {
        if (wanted.length > 0) await print(wanted);
      } catch (error) {
        failure = error;
        over.abort();
      }
    });
    let isSilent = false;
    const look = () => {
      if (filter.isOver(follower.position, Date.now())) over.abort();
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
