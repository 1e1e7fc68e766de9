import { constants, type FileHandle, lstat, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { withSpace } from '../kernel/disk-space.js';
import { UserError } from '../kernel/errors.js';

/** Saving the progress requires that the data before it is on disk, so it is not done after every page. */
const SAVE_INTERVAL_MS = 2_000;
/** At most this share of the time is spent on that: saving the state of a large Parquet file takes a while. */
const SAVE_SHARE = 0.05;

/** Progress of an export. */
export interface ExportProgress {
  /** The file contains every matching event up to here. */
  readonly position: number;
  readonly events: number;
  readonly bytes: number;
  /** State of the format. */
  readonly state?: unknown;
  /** The end of the file is written, too: nothing may follow it. */
  readonly complete?: true;
}

/** Content of `<file>.part.json`. The names are part of the file format: an upgrade must not prevent resuming an export. */
interface PartInfo {
  /** The export's options, serialised. */
  readonly question: string;
  readonly mark: ExportProgress;
}

/**
 * The output file of an export. It appears when it is complete, so a partial export is never mistaken for a complete one.
 * Until then the data is in `<file>.part`, and `<file>.part.json` records how much of it is valid and with which options the
 * export was started: the same export run again truncates the rest and continues there. A pipe or device is written directly.
 * Exports contain personal data, so only the owner may read them.
 */
export class ExportFile {
  private bytes: number;
  private isResumable: boolean;
  /** The first page is followed by its progress immediately. */
  private nextSaveMs = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly path: string,
    private readonly options: string,
    private readonly file: FileHandle,
    private readonly isDevice: boolean,
    /** Progress of an interrupted export; undefined when the export starts at the beginning. */
    readonly resumeFrom: ExportProgress | undefined,
  ) {
    this.bytes = resumeFrom?.bytes ?? 0;
    this.isResumable = resumeFrom !== undefined;
  }

  /** `options` identifies the export: an interrupted one is resumed only if they are the same. */
  static async open(path: string, options: string): Promise<ExportFile> {
    const existing = await stat(path).catch(() => undefined);
    if (existing?.isDirectory()) throw new UserError(`--out: ${path} is a folder. Give the name of a file.`);
    const isDevice = existing !== undefined && !existing.isFile();
    const resumeFrom = isDevice ? undefined : await readProgress(path, options);
    const file = await (isDevice ? open(path, 'w') : openPart(path, resumeFrom !== undefined)).catch(
      (error: NodeJS.ErrnoException) => {
        throw new UserError(`--out: ${path} cannot be written (${error.code}). Choose another file.`);
      },
    );
    if (resumeFrom) await file.truncate(resumeFrom.bytes);
    return new ExportFile(path, options, file, isDevice, resumeFrom);
  }

  /** `progress` is called only if it is to be saved. */
  write(bytes: Uint8Array, progress?: () => Omit<ExportProgress, 'bytes'>): Promise<void> {
    return this.withSpace(() => this.writeAll(bytes, progress));
  }

  private async writeAll(bytes: Uint8Array, progress?: () => Omit<ExportProgress, 'bytes'>): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const at = this.isDevice ? null : this.bytes + done;
      done += (await this.file.write(bytes, done, bytes.length - done, at)).bytesWritten;
    }
    this.bytes += bytes.length;
    if (progress && performance.now() >= this.nextSaveMs) await this.saveProgress(progress);
  }

  /** Gives the complete file its name. */
  async finish(): Promise<void> {
    if (!this.isDevice) await this.withSpace(() => this.complete());
    await this.file.close();
  }

  private async complete(): Promise<void> {
    await this.file.sync();
    if (!(await this.isNamed()))
      throw new UserError(`--out: another process exports to ${this.path}. Wait for it, or give another file.`);
    await rename(partOf(this.path), this.path);
    for (const suffix of ['', '.new']) await rm(`${partInfoOf(this.path)}${suffix}`, { force: true });
  }

  /** Otherwise another process that exports to the same file has replaced it: its own is not complete. */
  private async isNamed(): Promise<boolean> {
    const [own, named] = [await this.file.stat(), await lstat(partOf(this.path)).catch(() => undefined)];
    return named?.ino === own.ino && named.dev === own.dev;
  }

  private withSpace(work: () => Promise<void>): Promise<void> {
    const next = `run the same command again${this.isDevice ? '' : ': it continues where it stopped'}`;
    return withSpace(`--out: no space is left for ${this.path}`, next, work);
  }

  /** Closes the incomplete file and keeps it, so that a later process can resume the export, if its progress is saved. */
  async close(): Promise<void> {
    if (!this.isDevice && !this.isResumable && (await this.isNamed().catch(() => false)))
      await rm(partOf(this.path), { force: true });
    await this.file.close().catch(() => {});
  }

  private async saveProgress(progress: () => Omit<ExportProgress, 'bytes'>): Promise<void> {
    if (this.isDevice) return;
    const startedMs = performance.now();
    await this.file.datasync();
    const info: PartInfo = { question: this.options, mark: { ...progress(), bytes: this.bytes } };
    await rm(`${partInfoOf(this.path)}.new`, { force: true });
    await writeFile(`${partInfoOf(this.path)}.new`, JSON.stringify(info), { mode: 0o600, flag: 'wx' });
    await rename(`${partInfoOf(this.path)}.new`, partInfoOf(this.path));
    this.isResumable = true;
    const nowMs = performance.now();
    this.nextSaveMs = nowMs + Math.max(SAVE_INTERVAL_MS, (nowMs - startedMs) / SAVE_SHARE);
  }
}

function partOf(path: string): string {
  return `${path}.part`;
}

/**
 * Follows no symbolic link: in a folder that others can write to, one would lead personal data into a file of theirs, or
 * overwrite a file of this user. What an earlier export left is removed, and the file is created anew.
 */
async function openPart(path: string, isResumed: boolean): Promise<FileHandle> {
  const { O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  if (isResumed) return open(partOf(path), O_RDWR | O_NOFOLLOW);
  for (const left of [partOf(path), partInfoOf(path)]) await rm(left, { force: true });
  return open(partOf(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
}

function partInfoOf(path: string): string {
  return `${path}.part.json`;
}

/** Undefined, so that the export starts at the beginning, if there is no saved progress or the data is shorter than it states. */
async function readProgress(path: string, options: string): Promise<ExportProgress | undefined> {
  const text = await readFile(partInfoOf(path), 'utf8').catch(() => undefined);
  const part = await lstat(partOf(path)).catch(() => undefined);
  // The owner of the file can read what is added to it.
  if (text === undefined || !part?.isFile() || part.uid !== process.getuid?.()) return undefined;
  const { question, mark } = parsePartInfo(text, partInfoOf(path));
  if (question !== options) {
    throw new UserError(
      `--out: ${partOf(path)} belongs to an unfinished export with other options. Run that command again to complete it, or remove ${partInfoOf(path)}.`,
    );
  }
  return part.size < mark.bytes ? undefined : mark;
}

function parsePartInfo(text: string, file: string): PartInfo {
  try {
    const { question, mark } = JSON.parse(text) as PartInfo;
    const { position, events, bytes } = mark;
    if (typeof question === 'string' && [position, events, bytes].every(Number.isSafeInteger))
      return { question, mark };
  } catch {
    // The message below says what to do.
  }
  throw new UserError(
    `--out: ${file} is damaged, so the export cannot be resumed. Remove it to start the export over.`,
  );
}
