import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { UserError } from '../kernel/errors.js';

/** A mark names what is on disk, so what it names is brought there first: not after every page. */
const MARK_EVERY_MS = 2_000;

/** How far an export has come. */
export interface Mark {
  /** Everything wanted up to here is in the file. */
  readonly position: number;
  readonly events: number;
  readonly bytes: number;
  /** Of the format. */
  readonly state?: unknown;
}

/**
 * A file that appears when it is complete: nobody takes half an export for a whole one. Until then it is `<file>.part`,
 * and `<file>.part.json` beside it tells how far it is good and which question it answers: the same export asked again
 * cuts off what came later and goes on there. What is no plain file (a pipe, a device) is written as it is. Exports hold
 * what is about people, so only their owner may read them.
 */
export class ExportFile {
  private bytes: number;
  /** The first page is marked at once. */
  private markedAtMs = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly path: string,
    private readonly question: string,
    private readonly file: FileHandle,
    private readonly isDevice: boolean,
    /** Where to go on; undefined at the beginning. */
    readonly begun: Mark | undefined,
  ) {
    this.bytes = begun?.bytes ?? 0;
  }

  static async open(path: string, question: string): Promise<ExportFile> {
    const existing = await stat(path).catch(() => undefined);
    if (existing?.isDirectory()) throw new UserError(`--out: ${path} is a folder. Give the name of a file.`);
    const isDevice = existing !== undefined && !existing.isFile();
    const begun = isDevice ? undefined : await readMark(path, question);
    const target = isDevice ? path : partOf(path);
    const file = await open(target, begun ? 'r+' : 'w', 0o600).catch((error: NodeJS.ErrnoException) => {
      throw new UserError(`--out: ${path} cannot be written (${error.code}). Choose another file.`);
    });
    if (begun) await file.truncate(begun.bytes);
    return new ExportFile(path, question, file, isDevice, begun);
  }

  /** `mark` is asked for now and then only. */
  async write(bytes: Uint8Array, mark?: () => Omit<Mark, 'bytes'>): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const at = this.isDevice ? null : this.bytes + done;
      done += (await this.file.write(bytes, done, bytes.length - done, at)).bytesWritten;
    }
    this.bytes += bytes.length;
    if (mark && performance.now() - this.markedAtMs >= MARK_EVERY_MS) await this.mark(mark());
  }

  async finish(): Promise<void> {
    if (!this.isDevice) await this.file.sync();
    await this.file.close();
    if (this.isDevice) return;
    await rename(partOf(this.path), this.path);
    await rm(markOf(this.path), { force: true });
  }

  /** It stays, to be gone on with. */
  async leave(): Promise<void> {
    await this.file.close().catch(() => {});
  }

  private async mark(mark: Omit<Mark, 'bytes'>): Promise<void> {
    if (this.isDevice) return;
    await this.file.datasync();
    const text = JSON.stringify({ question: this.question, mark: { ...mark, bytes: this.bytes } });
    await writeFile(`${markOf(this.path)}.new`, text, { mode: 0o600 });
    await rename(`${markOf(this.path)}.new`, markOf(this.path));
    this.markedAtMs = performance.now();
  }
}

function partOf(path: string): string {
  return `${path}.part`;
}

function markOf(path: string): string {
  return `${path}.part.json`;
}

/** Where an earlier process stopped with the same question. A part without a mark, or shorter than its mark, begins anew. */
async function readMark(path: string, question: string): Promise<Mark | undefined> {
  const text = await readFile(markOf(path), 'utf8').catch(() => undefined);
  const part = await stat(partOf(path)).catch(() => undefined);
  if (text === undefined || !part) return undefined;
  const known = JSON.parse(text) as { question: string; mark: Mark };
  if (known.question !== question) {
    throw new UserError(
      `--out: ${partOf(path)} is half of another export. Ask for that one again to complete it, or remove ${markOf(path)}.`,
    );
  }
  return part.size < known.mark.bytes ? undefined : known.mark;
}
