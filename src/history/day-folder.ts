import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { diskFullError, withSpace } from '../kernel/disk-space.js';
import { UserError } from '../kernel/errors.js';
import type { LogIdentity } from './log-identity.js';

/** Readers of Hive layouts skip names that start with an underscore. */
const PROGRESS = '_export.json';
/** Positions are padded, so that names sort in log order. */
const POSITION_DIGITS = 12;

interface Progress {
  /** The export's options, serialised. */
  readonly options: string;
  /** Id of the log. */
  readonly log: string;
  /** Everything up to here is exported. */
  readonly position: number;
}

interface Part {
  readonly day: string;
  readonly first: number;
  readonly last: number;
  readonly file: string;
  /** After the name of the part, while it is not finished. */
  readonly suffix: string;
}

/**
 * The output folder of an export that is partitioned by day (Hive layout): `day=2026-11-17/part-<first>-<last>.parquet`, with the
 * range of positions that the part covers. Parts are never changed, so a day that is complete is not written again, and later runs
 * add only parts with newer events.
 */
export class DayFolder {
  private constructor(
    private readonly folder: string,
    private readonly extension: string,
    private readonly identity: Omit<Progress, 'position'>,
    private readonly parts: readonly Part[],
    private reached: number,
  ) {}

  /** `options` and the log identify the export: parts with other events or columns must not get into the same folder. */
  static async open(folder: string, extension: string, options: string, log: LogIdentity): Promise<DayFolder> {
    const existing = await lstat(folder).catch(() => undefined);
    if (existing?.isFile()) throw new UserError(`--out: ${folder} is a file. With --partition-by give a folder.`);
    await makeFolder(folder);
    const progress = await readProgress(join(folder, PROGRESS));
    if (progress && progress.log !== log.id)
      throw new UserError(
        `--out: ${folder} has an export of another log. Export from its database again, or give another folder.`,
      );
    if (progress && progress.options !== options)
      throw new UserError(
        `--out: ${folder} has an export with other options. Run it with those again, or give another folder.`,
      );
    const parts = await readParts(folder, extension);
    // A process that was killed may have finished a part and not recorded it.
    const finished = parts.filter(({ suffix }) => suffix === '').map(({ last }) => last);
    const reached = Math.max(progress?.position ?? 0, ...finished);
    if (reached > log.head)
      throw new UserError(
        `--out: ${folder} has an export up to position ${reached}, and the log ends at ${log.head}: it is another one, or has lost events. Give another folder.`,
      );
    // Parts of interrupted runs: a later run exported these events with another range, and none would continue them.
    for (const { file, suffix, first } of parts) if (suffix !== '' && first <= reached) await rm(file, { force: true });
    return new DayFolder(folder, extension, { options, log: log.id }, parts, reached);
  }

  /** Everything up to here is exported. */
  get position(): number {
    return this.reached;
  }

  /** The file for the events of a day after what is exported, and its last position: that of an interrupted run, if there is one. */
  async nextPart(day: string, last: number): Promise<{ file: string; last: number }> {
    const first = this.reached + 1;
    const started = this.parts.find((part) => part.suffix === '.part.json' && part.day === day && part.first === first);
    const end = started && started.last <= last ? started.last : last;
    await makeFolder(join(this.folder, `day=${day}`));
    const file = join(this.folder, `day=${day}`, `part-${padded(first)}-${padded(end)}.${this.extension}`);
    // Parts of interrupted runs, with a range that no run continues: this one exports their events.
    for (const part of this.parts)
      if (part.suffix !== '' && part.file !== `${file}${part.suffix}`) await rm(part.file, { force: true });
    return { file, last: end };
  }

  /** Records that everything up to the position is exported. */
  async advance(position: number): Promise<void> {
    const file = join(this.folder, PROGRESS);
    await withSpace(`--out: no space is left in ${this.folder}`, 'run the same command again', async () => {
      await rm(`${file}.new`, { force: true });
      await writeFile(`${file}.new`, JSON.stringify({ ...this.identity, position } satisfies Progress), {
        mode: 0o600,
        flag: 'wx',
      });
      await rename(`${file}.new`, file);
    });
    this.reached = position;
  }
}

function padded(position: number): string {
  return String(position).padStart(POSITION_DIGITS, '0');
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    const full = diskFullError(error, `--out: no space is left for ${path}`, 'run the same command again');
    if (full) throw full;
    throw new UserError(`--out: the folder ${path} cannot be created (${error.code}). Choose another one.`);
  });
}

async function readProgress(file: string): Promise<Progress | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UserError(`${file} cannot be read (${error.code}).`);
  });
  if (text === undefined) return undefined;
  try {
    const { options, log, position } = JSON.parse(text) as Progress;
    if (typeof options === 'string' && typeof log === 'string' && Number.isSafeInteger(position))
      return { options, log, position };
  } catch {
    // The message below says what to do.
  }
  throw new UserError(
    `${file} is damaged. Remove it and run the same command again: the names of the parts tell how far the export has come.`,
  );
}

async function readParts(folder: string, extension: string): Promise<Part[]> {
  const name = new RegExp(
    `^part-(\\d{${POSITION_DIGITS},})-(\\d{${POSITION_DIGITS},})\\.${extension}(\\.part(?:\\.json(?:\\.new)?)?)?$`,
  );
  const parts: Part[] = [];
  for (const entry of await readdir(folder)) {
    const [, day] = /^day=(\d{4}-\d{2}-\d{2})$/.exec(entry) ?? [];
    if (day === undefined) continue;
    for (const file of await readdir(join(folder, entry))) {
      const [, first, last, suffix = ''] = name.exec(file) ?? [];
      if (first !== undefined)
        parts.push({ day, first: Number(first), last: Number(last), file: join(folder, entry, file), suffix });
    }
  }
  return parts;
}
