import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { withSpace } from '../../kernel/disk-space.js';
import { messageOf, UserError } from '../../kernel/errors.js';
import type { RejectedLine } from './import-options.js';

const WRITE_CHARACTERS = 64 * 1024;
const FIRST_MAX = 10;

/**
 * The rejected lines with their reasons, readable by the owner only. Written beside the final name and renamed at the end, so that
 * the file is never half of one; created exclusively, so that nothing is written through a link.
 */
export class RejectedFile {
  /** The first that were added, for the terminal. */
  readonly first: Pick<RejectedLine, 'number' | 'reason'>[] = [];
  private file: FileHandle | undefined;
  private waiting: string[] = [];
  private waitingCharacters = 0;
  /** Lines are missing, so it does not get its final name. */
  private isIncomplete = false;

  constructor(
    readonly path: string,
    private readonly header: string,
  ) {}

  private get partial(): string {
    return `${this.path}.partial`;
  }

  async add({ number, reason, text }: RejectedLine): Promise<void> {
    if (this.first.length < FIRST_MAX) this.first.push({ number, reason });
    this.file ??= await this.create();
    this.waiting.push(text);
    this.waitingCharacters += text.length;
    if (this.waitingCharacters >= WRITE_CHARACTERS) await this.write(this.file);
  }

  /** Returns whether there is a file, which then has its final name. */
  async finish(): Promise<boolean> {
    const { file } = this;
    if (!file) return false;
    this.file = undefined;
    try {
      if (this.isIncomplete) return false;
      await this.write(file);
      await file.sync();
      const [own, named] = await Promise.all([file.stat(), lstat(this.partial).catch(() => undefined)]);
      if (named?.ino !== own.ino)
        throw new UserError(`Another import of the same file has replaced ${this.partial}. Run one at a time.`);
      await rename(this.partial, this.path);
    } finally {
      await file.close();
    }
    return true;
  }

  /** What a killed import left behind is replaced. */
  private async create(): Promise<FileHandle> {
    try {
      await rm(this.partial, { force: true });
      const file = await open(this.partial, 'wx', 0o600);
      await file.writeFile(this.header);
      return file;
    } catch (error) {
      throw new UserError(
        `The rejected lines cannot be written to ${this.path}: ${messageOf(error)}. Name another file with --rejected <file>.`,
      );
    }
  }

  private async write(file: FileHandle): Promise<void> {
    const text = this.waiting.join('');
    this.waiting = [];
    this.waitingCharacters = 0;
    if (text === '') return;
    const next = 'run the same command again: what was imported is skipped';
    try {
      await withSpace(`No space is left for the rejected lines in ${this.partial}`, next, () => file.appendFile(text));
    } catch (error) {
      this.isIncomplete = true;
      throw error;
    }
  }
}
