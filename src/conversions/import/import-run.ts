import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.js';
import { UserError } from '../../kernel/errors.js';
import type { SiteKey } from '../../sites/site.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import { hashPersonal } from '../hash-personal.js';
import { fieldsWith, siteReading } from '../inbound/inbound-field.js';
import { readInboundFields } from '../inbound/inbound-fields.js';
import { keysOf } from '../person.js';
import { ReceiveConversion, type ReceiveRules } from '../receive-conversion.command.js';
import type { LineOutcome } from './conversion-importer.js';
import type { LineSource, SourceLine } from './import-options.js';
import type { RejectedFile } from './rejected-file.js';

export interface ImportCounts {
  accepted: number;
  deduplicated: number;
  filtered: number;
  rejected: number;
}

export interface ImportRun {
  readonly source: LineSource;
  readonly key: SiteKey;
  readonly rules: ReceiveRules;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  /** The site as of now. */
  site(): LoadedSite;
  /** One outcome per conversion. */
  store(commands: readonly ReceiveConversion[]): Promise<LineOutcome[]>;
  /** People who were erased by now, and must not return with an old export. */
  erased(): Promise<ReadonlySet<string>>;
  readonly rejected: Pick<RejectedFile, 'add'>;
  onProgress(counts: Readonly<ImportCounts>): void;
}

export interface ImportResult {
  /** Number of lines whose time has no offset. */
  readonly zoneless: number;
  /** Number of lines of which a field was not valid and not used, by its name. */
  readonly dropped: ReadonlyMap<string, number>;
  /** Likewise of lines with a field that no conversion has. */
  readonly unknown: ReadonlyMap<string, number>;
}

/** Lines that are looked up and stored together. Large enough that commits are shared by many. */
const WINDOW_LINES = 100;
/** Chunks in one window: 4 MiB of a file. Lines may have 1 MiB, and stay in memory until they are stored. */
const WINDOW_CHUNKS = 64;
/** While one is being stored, others are read, looked up and matched. */
const WINDOWS_IN_FLIGHT = 6;
/** Lines that are read before answers of the database are handled: reading a window at once would leave it idle meanwhile. */
const LINES_PER_TURN = 25;

const ERASED = 'the person was erased with "visitors erase": what happened since can be sent to the endpoint';

interface ReadLine {
  readonly line: SourceLine;
  readonly command: ReceiveConversion;
}

/** Reads the source to its end, or until it is interrupted, in constant memory. Counts what was stored, also if it fails. */
export async function runImport(run: ImportRun, counts: ImportCounts): Promise<ImportResult> {
  const windows = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  let window: ReadLine[] = [];
  let chunks = 0;
  let zoneless = 0;
  const dropped = new Map<string, number>();
  const unknown = new Map<string, number>();
  const dispatch = async () => {
    const lines = window;
    window = [];
    chunks = 0;
    const storing = storeWindow(run, lines, counts).catch((error: unknown) => {
      failure ??= { error };
    });
    windows.add(storing);
    void storing.then(() => windows.delete(storing));
    while (windows.size >= WINDOWS_IN_FLIGHT) await Promise.race(windows);
    run.onProgress(counts);
  };
  try {
    for await (const lines of run.source.chunks) {
      for (const line of lines) {
        if (failure || run.stop.aborted) break;
        if ('isZoneless' in line.reading && line.reading.isZoneless) zoneless += 1;
        const command = toCommand(run, line);
        if (typeof command === 'string') await reject(run, line, command, counts);
        else {
          countEach(fieldsWith('dropped', command.fields), dropped);
          countEach(fieldsWith('unknown', command.fields), unknown);
          if (window.push({ line, command }) >= WINDOW_LINES) await dispatch();
          else if (window.length % LINES_PER_TURN === 0) await setImmediate();
        }
      }
      if (failure || run.stop.aborted) break;
      chunks += 1;
      if (chunks >= WINDOW_CHUNKS && window.length > 0) await dispatch();
    }
  } catch (error) {
    failure ??= { error };
  }
  // In a broken file, what precedes the fault is stored.
  if (window.length > 0 && !run.stop.aborted) await dispatch();
  await Promise.all(windows);
  if (failure && !run.stop.aborted) throw failure.error;
  return { zoneless, dropped, unknown };
}

function countEach(names: readonly string[] | undefined, counts: Map<string, number>): void {
  for (const name of names ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
}

function toCommand(run: ImportRun, line: SourceLine): ReceiveConversion | string {
  if ('error' in line.reading) return line.reading.error;
  const site = run.site();
  const { rawBody } = line;
  const { body, dropped = [] } = line.reading;
  const rules = siteReading(site.site);
  const reading = readInboundFields(body, { rawBody, clock: run.clock, ...rules });
  if (!reading.ok) return reading.error;
  if (dropped[0] && rules.isStrict) return dropped[0].problem;
  const warnings = dropped.map(({ field, problem }) => ({
    kind: 'dropped' as const,
    field,
    text: `${problem}: dropped`,
  }));
  const fields = { ...reading.fields, warnings: [...(reading.fields.warnings ?? []), ...warnings] };
  return new ReceiveConversion(site, run.key, warnings.length > 0 ? fields : reading.fields, run.rules);
}

/** Whether any that the line states of the person was erased. */
function namesAny(erased: ReadonlySet<string>, { fields, loadedSite }: ReceiveConversion): boolean {
  const hashes = hashPersonal(fields, loadedSite.site.settings.country ?? undefined);
  return keysOf(fields, hashes, loadedSite.dedupSecret).some((key) => erased.has(key));
}

async function storeWindow(run: ImportRun, window: readonly ReadLine[], counts: ImportCounts): Promise<void> {
  // Now and not when the line was read: a source may be slow, and a person erased meanwhile.
  const erased = await run.erased();
  const isErased = ({ command }: ReadLine) => erased.size > 0 && namesAny(erased, command);
  for (const { line } of window.filter(isErased)) await reject(run, line, ERASED, counts);
  const lines = window.filter((read) => !isErased(read));
  const outcomes = await run.store(lines.map(({ command }) => command));
  for (const [index, outcome] of outcomes.entries()) {
    if (typeof outcome === 'string') counts[outcome] += 1;
    else await reject(run, (lines[index] as ReadLine).line, outcome.rejected, counts);
  }
}

async function reject(run: ImportRun, line: SourceLine, reason: string, counts: ImportCounts): Promise<void> {
  counts.rejected += 1;
  await run.rejected.add(line.rejected(reason));
}

/** The site, or an error if it was removed meanwhile. */
export function requireSite(site: LoadedSite | undefined, host: string): LoadedSite {
  if (!site) throw new UserError(`Site ${host} was removed. The import has stopped.`);
  return site;
}
