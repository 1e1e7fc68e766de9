import { constants, type FileHandle, lstat, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { UserError } from '../kernel/errors.js';

/** A checkpoint requires that the data before it is on disk, so it is not written after every page. */
const CHECKPOINT_INTERVAL_MS = 2_000;

/** Progress of an export. */
export interface ExportCheckpoint {
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
  readonly mark: ExportCheckpoint;
}

/**
 * The output file of an export. It appears when it is complete, so a partial export is never mistaken for a complete one.
 * Until then the data is in `<file>.part`, and `<file>.part.json` records how much of it is valid and with which options the
 * export was started: the same export run again truncates the rest and continues there. A pipe or device is written directly.
 * Exports contain personal data, so only the owner may read them.
 */
export class ExportFile {
  private bytes: number;
  /** The first page is followed by a checkpoint immediately. */
  private checkpointAtMs = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly path: string,
    private readonly options: string,
    private readonly file: FileHandle,
    private readonly isDevice: boolean,
    /** Checkpoint of an interrupted export; undefined when the export starts at the beginning. */
    readonly resumeFrom: ExportCheckpoint | undefined,
  ) {
    this.bytes = resumeFrom?.bytes ?? 0;
  }

  /** `options` identifies the export: an interrupted one is resumed only if they are the same. */
  static async open(path: string, options: string): Promise<ExportFile> {
    const existing = await stat(path).catch(() => undefined);
    if (existing?.isDirectory()) throw new UserError(`--out: ${path} is a folder. Give the name of a file.`);
    const isDevice = existing !== undefined && !existing.isFile();
    const resumeFrom = isDevice ? undefined : await readCheckpoint(path, options);
    const file = await (isDevice ? open(path, 'w') : openPart(path, resumeFrom !== undefined)).catch(
      (error: NodeJS.ErrnoException) => {
        throw new UserError(`--out: ${path} cannot be written (${error.code}). Choose another file.`);
      },
    );
    if (resumeFrom) await file.truncate(resumeFrom.bytes);
    return new ExportFile(path, options, file, isDevice, resumeFrom);
  }

  /** `checkpoint` is called only if a checkpoint is due. */
  async write(bytes: Uint8Array, checkpoint?: () => Omit<ExportCheckpoint, 'bytes'>): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const at = this.isDevice ? null : this.bytes + done;
      done += (await this.file.write(bytes, done, bytes.length - done, at)).bytesWritten;
    }
    this.bytes += bytes.length;
    const isDue = performance.now() - this.checkpointAtMs >= CHECKPOINT_INTERVAL_MS;
    if (checkpoint && isDue) await this.saveCheckpoint(checkpoint());
  }

  /** Gives the complete file its name. */
  async finish(): Promise<void> {
    if (!this.isDevice) await this.file.sync();
    await this.file.close();
    if (this.isDevice) return;
    await rename(partOf(this.path), this.path);
    await rm(partInfoOf(this.path), { force: true });
  }

  /** Closes the incomplete file and keeps it, so that a later process can resume the export. */
  async close(): Promise<void> {
    await this.file.close().catch(() => {});
  }

  private async saveCheckpoint(checkpoint: Omit<ExportCheckpoint, 'bytes'>): Promise<void> {
    if (this.isDevice) return;
    await this.file.datasync();
    const info: PartInfo = { question: this.options, mark: { ...checkpoint, bytes: this.bytes } };
    await rm(`${partInfoOf(this.path)}.new`, { force: true });
    await writeFile(`${partInfoOf(this.path)}.new`, JSON.stringify(info), { mode: 0o600, flag: 'wx' });
    await rename(`${partInfoOf(this.path)}.new`, partInfoOf(this.path));
    this.checkpointAtMs = performance.now();
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
  await rm(partOf(path), { force: true });
  return open(partOf(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
}

function partInfoOf(path: string): string {
  return `${path}.part.json`;
}

/** Undefined, so that the export starts at the beginning, if there is no checkpoint or the data is shorter than it states. */
async function readCheckpoint(path: string, options: string): Promise<ExportCheckpoint | undefined> {
  const text = await readFile(partInfoOf(path), 'utf8').catch(() => undefined);
  const part = await lstat(partOf(path)).catch(() => undefined);
  // The owner of the file can read what is added to it.
  if (text === undefined || !part?.isFile() || part.uid !== process.getuid?.()) return undefined;
  const { question, mark } = JSON.parse(text) as PartInfo;
  if (question !== options) {
    throw new UserError(
      `--out: ${partOf(path)} belongs to an unfinished export with other options. Run that command again to complete it, or remove ${partInfoOf(path)}.`,
    );
  }
  return part.size < mark.bytes ? undefined : mark;
}
