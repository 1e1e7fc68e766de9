import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { followSite } from '../conversions/follow-site.js';
import { ConversionImporter } from '../conversions/import/conversion-importer.js';
import { openCsv } from '../conversions/import/csv-lines.js';
import { DryRunLog } from '../conversions/import/dry-run-log.js';
import type { LineSource, ReadOptions } from '../conversions/import/import-options.js';
import { type ImportCounts, type ImportResult, runImport } from '../conversions/import/import-run.js';
import { openNdjson } from '../conversions/import/ndjson-lines.js';
import { RejectedFile } from '../conversions/import/rejected-file.js';
import { type Encoding, openSource, type SourceBytes } from '../conversions/import/source-bytes.js';
import { UNKNOWN_FIELDS } from '../conversions/inbound/inbound-fields.js';
import { IMPORT_KEY_ID } from '../events/conversion.events.js';
import { counted } from '../kernel/counted.js';
import { UserError } from '../kernel/errors.js';
import { findClaims } from '../log/claims.js';
import type { SiteKey } from '../sites/site.js';
import { Matcher } from '../visitors/matcher.js';
import { CLI_ACTOR } from './cli-actor.js';
import { MemoryBound } from './memory-bound.js';
import { ImportProgress } from './output/import-progress.js';
import { table } from './output/table.js';
import type { Session } from './session.js';

export type FileFormat = 'csv' | 'ndjson';

interface ImportRequest {
  /** `-`: standard input. */
  readonly file: string;
  readonly host: string;
  readonly format?: FileFormat | undefined;
  readonly encoding?: Encoding | undefined;
  readonly rejected?: string | undefined;
  readonly isTrial: boolean;
  readonly isDryRun: boolean;
  readonly isZoneStated: boolean;
  readonly json?: true | undefined;
  readonly read: ReadOptions;
}

type FirstRejected = RejectedFile['first'][number];

const INTERRUPTED = 'Interrupted. Run the same command again to continue: what was imported is skipped.';
const PAUSE_MS = 500;
const PAUSE_MAX_MS = 5_000;

export async function importFile(session: Session, request: ImportRequest): Promise<void> {
  const { stdin, stop } = session;
  try {
    const bytes = await openSource(request.file, stdin, request.encoding, stop);
    try {
      const format = formatOf(request, bytes.start);
      const { site } = await session.openSite(request.host);
      const read = { ...request.read, withoutEmail: site.settings.identifyBy === 'any' };
      const source = format === 'csv' ? await openCsv(bytes, read) : openNdjson(bytes, read);
      await importSource(session, request, bytes, source, format);
    } finally {
      bytes.close();
    }
  } catch (error) {
    throw stop.aborted ? new UserError(INTERRUPTED) : error;
  }
  if (stop.aborted) throw new UserError(INTERRUPTED);
}

async function importSource(
  session: Session,
  request: ImportRequest,
  bytes: SourceBytes,
  source: LineSource,
  format: FileFormat,
): Promise<void> {
  const { output, stop } = session;
  const dependencies = await session.open();
  const { postgres, log, settings, erasureList, sites } = dependencies;
  const { host } = await sites.get(request.host);
  const site = await followSite(dependencies, host);
  const matcher = new Matcher(postgres, () => {});
  const dryRun = request.isDryRun
    ? new DryRunLog(log, (name, keys) => findClaims(postgres.pool, name, keys), postgres.clock)
    : undefined;
  const progress = new ImportProgress(output, bytes);
  const memory = new MemoryBound();
  const importer = new ConversionImporter({
    actor: CLI_ACTOR,
    log: dryRun ?? log,
    matcher,
    clock: postgres.clock,
    pause: async (round, error) => {
      progress.waiting(round, error);
      await sleep(Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** round), undefined, { signal: stop });
    },
  });
  const rejected = new RejectedFile(rejectedPath(request, format), source.rejectedHeader);
  const counts: ImportCounts = { accepted: 0, deduplicated: 0, filtered: 0, rejected: 0 };
  let result: ImportResult | undefined;
  try {
    result = await runImport(
      {
        source,
        key: importKey(request.isTrial),
        rules: settings,
        clock: postgres.clock,
        stop,
        site,
        store: (commands) => importer.store(commands),
        erased: erasureList.subjectsOf(host),
        rejected,
        onProgress: (current) => {
          progress.show(current);
          memory.check();
        },
      },
      counts,
    );
  } finally {
    await matcher.close();
    output.endProgress();
    const hasFile = await rejected.finish();
    await showCounts(session, request, counts, rejected.first, hasFile ? rejected.path : undefined);
    if (dryRun?.isFull)
      output.note(
        'The file has more lines than a dry run remembers: duplicates among the last are counted as accepted.',
      );
  }
  noteTimes(session, request, result);
  noteUnused(session, result);
}

function importKey(trial: boolean): SiteKey {
  return { id: IMPORT_KEY_ID, name: 'import', prefix: '', hash: '', trial, createdAt: '', status: 'active' };
}

/** By the name of the file, otherwise by its first character. */
function formatOf({ format, file }: ImportRequest, start: Buffer): FileFormat {
  if (format) return format;
  const extension = extname(file).toLowerCase();
  if (extension === '.csv' || extension === '.tsv') return 'csv';
  if (extension === '.ndjson' || extension === '.jsonl') return 'ndjson';
  return /^\s*\{/.test(start.toString()) ? 'ndjson' : 'csv';
}

function rejectedPath({ rejected, file }: ImportRequest, format: FileFormat): string {
  return rejected ?? `${file === '-' ? 'stdin' : file}.rejected.${format}`;
}

async function showCounts(
  { output }: Session,
  { json, isDryRun }: ImportRequest,
  counts: ImportCounts,
  firstRejected: RejectedFile['first'],
  rejectedFile: string | undefined,
): Promise<void> {
  const isShown = isDryRun && firstRejected.length > 0;
  const document = {
    ...counts,
    ...(isShown && { firstRejected }),
    ...(rejectedFile !== undefined && { rejectedFile }),
  };
  await output.show(json, document, (layout) => {
    const lines = table(Object.entries(counts), { OUTCOME: ([name]) => name, LINES: ([, count]) => count }, layout);
    if (!isShown) return lines;
    const columns = {
      LINE: ({ number }: FirstRejected) => number,
      'REJECTED BECAUSE': ({ reason }: FirstRejected) => reason,
    };
    return `${lines}\n${table(firstRejected, columns, layout)}`;
  });
  if (rejectedFile !== undefined && !json)
    output.note(`The rejected lines are in ${rejectedFile}, with their reasons. Correct them and import that file.`);
}

function noteUnused({ output }: Session, { dropped, unknown }: ImportResult): void {
  for (const [field, lines] of dropped)
    output.note(
      `${field} was not valid in ${counted(lines, 'line, which was', 'lines, which were')} imported without it.`,
    );
  const names = [...unknown].map(([field, lines]) => {
    const rightName = UNKNOWN_FIELDS.rightNameOf(field);
    return `${field} ${lines}${rightName === undefined ? '' : ` (use ${rightName})`}`;
  });
  if (names.length > 0) output.note(`Unknown fields were ignored. In how many lines: ${names.join(', ')}.`);
}

function noteTimes({ output }: Session, { isZoneStated }: ImportRequest, { zoneless }: ImportResult): void {
  if (zoneless > 0 && !isZoneStated)
    output.note(
      `${counted(zoneless, 'time without an offset was', 'times without an offset were')} read as UTC. --timezone Europe/Berlin states another zone.`,
    );
}
