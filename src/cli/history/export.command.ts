import { type Command, Option } from 'commander';
import { findOrder } from '../../conversions/find-order.js';
import { positionRangeOf } from '../../history/bound.js';
import { exportConversions } from '../../history/conversions/conversion-table.js';
import { DayFolder } from '../../history/day-folder.js';
import { dayOfEvent } from '../../history/day-of-event.js';
import { EventFilter, type FilterOptions } from '../../history/event-filter.js';
import { ExportFile } from '../../history/export-file.js';
import { type ExportContent, FORMATS, type FormatName } from '../../history/export-formats.js';
import { identifyLog } from '../../history/log-identity.js';
import { runExport } from '../../history/run-export.js';
import { withFolderLock } from '../../history/with-folder-lock.js';
import { counted } from '../../kernel/counted.js';
import { type ReaderHold, withReaderHold } from '../../log/retention/retention-holds.js';
import type { Site } from '../../sites/site.js';
import { withFilters } from '../arguments/filter-options.js';
import { progressBar } from '../output/output.js';
import type { CliDependencies, Session } from '../session.js';
import { subcommand, UsageError } from '../subcommand.js';
import { noteRemoved, refuseGap } from './removed-events.js';

interface ExportOptions extends FilterOptions, ExportContent {
  readonly format?: FormatName;
  readonly partitionBy?: 'day';
  readonly table?: 'conversions';
  readonly out?: string;
  readonly json?: true;
}

type Progress = (events: number, position: number) => void;

const INTERRUPTED = 'Interrupted. Run the same command again to resume the export.';

export function addExport(events: Command, session: Session): void {
  const { output } = session;
  let isGapNoted = false;

  withFilters(
    subcommand(
      events,
      'export',
      'Export all events, or those that match the filters',
      'events export --from 2025-03-01 --format csv --out march.csv',
    ),
  )
    .addOption(new Option('--format <format>', 'file format; default: ndjson').choices(Object.keys(FORMATS)))
    .option('--flat', 'add columns for the common fields, with one type each; Parquet always has them')
    .option('--no-personal', 'leave out personal parts, email and IP addresses, and names of operators')
    .addOption(
      new Option('--partition-by <unit>', 'write one folder for each UTC day; later runs add newer events')
        .choices(['day'])
        .conflicts('order'),
    )
    .addOption(
      new Option('--table <table>', 'one row per conversion and one column per platform, as of now, instead of events')
        .choices(['conversions'])
        .conflicts(['type', 'flat', 'partitionBy']),
    )
    .option('--out <file>', 'write to a file; running the same command again resumes an interrupted export')
    .action(async (options: ExportOptions) => {
      const { format = 'ndjson', partitionBy, out, json } = options;
      if (format === 'parquet' && out === undefined) {
        throw new UsageError('Parquet requires a file: give it with --out <file>.');
      }
      if (partitionBy && out === undefined) {
        throw new UsageError('--partition-by requires a folder: give it with --out <folder>.');
      }
      if (json && format !== 'ndjson' && out === undefined) {
        throw new UsageError(`--json with --format ${format} requires a file: give it with --out <file>.`);
      }
      const dependencies = await session.open();
      if (options.table) return exportTable(dependencies, options);
      if (out === undefined) return exportToOutput(dependencies, options);
      if (partitionBy) {
        const result = await exportByDay(dependencies, out, options);
        return output.show(
          json,
          { folder: out, format, ...result },
          () => `Exported ${counted(result.events, 'event')} to ${out}: ${counted(result.files, 'new file')}\n`,
        );
      }
      const filter = await EventFilter.open(dependencies, options);
      const progress = reportProgress(filter, INTERRUPTED);
      const count = await exportToFile(dependencies, filter, out, options, progress);
      await output.show(
        json,
        { file: out, format, events: count, position: filter.until },
        () => `Exported ${counted(count, 'event')} to ${out}\n`,
      );
    });

  /** Conversions change until their deliveries have ended: an interrupted table is made anew. */
  async function exportTable(
    { postgres, log, sites, secrets }: CliDependencies,
    options: ExportOptions,
  ): Promise<void> {
    const { format = 'ndjson', personal, out, order, json } = options;
    const site = options.site === undefined ? undefined : await sites.get(options.site);
    const all = await sites.everAdded();
    const range = await positionRangeOf(log, options, site && { host: site.host });
    const connections = (site ? [site] : all).flatMap((each) => each.connections.map(({ platform }) => platform));
    const of = order === undefined ? undefined : await Promise.all((site ? [site] : all).map((each) => ofOrder(each)));
    const file = out === undefined ? undefined : await ExportFile.open(out, 'conversions');
    const report = reportProgress(range, 'Interrupted: the table is incomplete. Run the command again.');
    try {
      const count = await withReaderHold(postgres, 'events export', range.after, (hold) => {
        noteRemoved(output, range, hold);
        return exportConversions(log, {
          ...{ personal, range, site: site?.host, format },
          filter: { status: 'received' },
          conversions: of && new Set(of.flat()),
          connections: [...new Set(connections)].sort(),
          write: async (bytes) => (file ? file.write(bytes) : bytes.length > 0 ? output.print(bytes) : undefined),
          progress: report,
        });
      });
      await file?.finish();
      output.endProgress();
      if (out === undefined) return;
      await output.show(
        json,
        { file: out, format, conversions: count },
        () => `Exported ${counted(count, 'conversion')} to ${out}\n`,
      );
    } catch (error) {
      await file?.close();
      throw error;
    }

    async function ofOrder(each: Site): Promise<string[]> {
      const openings = await findOrder(log, each, await secrets.dedupSecret(each.host), order as string);
      return openings.map(({ data }) => data.conversionId);
    }
  }

  async function exportToOutput(dependencies: CliDependencies, options: ExportOptions): Promise<void> {
    const { format = 'ndjson', flat, personal } = options;
    const filter = await EventFilter.open(dependencies, options);
    await runExport(dependencies.postgres, filter, {
      ...{ format, flat, personal },
      onHold: (hold) => noteGap(filter, hold),
      write: (bytes) => (bytes.length > 0 ? output.print(bytes) : Promise.resolve()),
      progress: reportProgress(filter, 'Interrupted: the export is incomplete. Run the command again.'),
    });
  }

  /** Exports what is newer than the parts in the folder, day by day. */
  function exportByDay(dependencies: CliDependencies, out: string, options: ExportOptions) {
    const { postgres, log, sites } = dependencies;
    const { format = 'ndjson', flat, personal, from, type: types } = options;
    return withFolderLock(postgres, out, async () => {
      const site = options.site === undefined ? undefined : (await sites.get(options.site)).host;
      const { after, until } = await positionRangeOf(log, options, site === undefined ? undefined : { host: site });
      // Without `to`: a command that runs every night names another end each time.
      const identity = { format, flat, personal, site, types, from };
      const folder = await DayFolder.open(out, format, JSON.stringify(identity), await identifyLog(log));
      // A range may start beyond the head: not recorded, because the log has not come that far.
      const start = Math.min(after, until);
      if (folder.position < start) await folder.advance(start);
      const report = reportProgress({ after: folder.position, until }, INTERRUPTED);
      const selection = { until, limit: 1, ...(types && { types }), ...(site !== undefined && { site }) };
      let events = 0;
      let files = 0;
      for (;;) {
        const [next] = await log.read({ after: folder.position, ...selection });
        if (!next) break;
        session.throwIfStopped(INTERRUPTED);
        const { day, last } = await dayOfEvent(log, next);
        const part = await folder.nextPart(day, Math.min(last, until));
        const range = { from: { position: folder.position + 1 }, to: { position: part.last + 1 } };
        const filter = await EventFilter.open(dependencies, { ...options, ...range });
        const earlier = events;
        events += await exportToFile(dependencies, filter, part.file, { ...options, ...range }, (count, position) =>
          report(earlier + count, position),
        );
        files += 1;
        await folder.advance(part.last);
      }
      if (folder.position < until) await folder.advance(until);
      return { events, files, position: folder.position };
    });
  }

  async function exportToFile(
    { postgres }: CliDependencies,
    filter: EventFilter,
    out: string,
    { format = 'ndjson', flat, personal, site, type, order, from, to }: ExportOptions,
    progress: Progress,
  ): Promise<number> {
    const content = { flat, ...(personal === false && { personal }) };
    const file = await ExportFile.open(out, JSON.stringify({ format, ...content, site, type, order, from, to }));
    const { resumeFrom } = file;
    if (resumeFrom)
      output.note(
        `Resuming ${out}.part after position ${resumeFrom.position}: it contains ${counted(resumeFrom.events, 'event')}.`,
      );
    try {
      return await runExport(postgres, filter, {
        ...{ format, flat, personal, resumeFrom, progress },
        onHold: (hold) => (resumeFrom ? refuseGap(out, resumeFrom.position, hold) : noteGap(filter, hold)),
        write: (bytes, checkpoint) => file.write(bytes, checkpoint),
        finish: () => file.finish(),
      });
    } catch (error) {
      await file.close();
      throw error;
    } finally {
      output.endProgress();
    }
  }

  /** Once, also if the export has many parts. */
  function noteGap(filter: EventFilter, hold: ReaderHold): void {
    if (!isGapNoted) isGapNoted = noteRemoved(output, filter, hold);
  }

  /** Shows the progress of an export, and stops it on Ctrl-C. */
  function reportProgress({ after, until }: { after: number; until: number }, interrupted: string): Progress {
    const startedMs = performance.now();
    let before: number | undefined;
    return (events, position) => {
      if (position < until) session.throwIfStopped(interrupted);
      before ??= events;
      const rate = Math.round(((events - before) / Math.max(1, performance.now() - startedMs)) * 1_000);
      const done = until > after ? Math.min(1, (position - after) / (until - after)) : 1;
      output.progress(
        `${progressBar(done)}  ${events.toLocaleString('en')} events, ${rate.toLocaleString('en')} per second`,
      );
    };
  }
}
