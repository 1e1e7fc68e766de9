import { open, readFile } from 'node:fs/promises';
import { UserError } from '../kernel/errors.js';
import type { Sealer } from '../kernel/sealing.js';

const LABEL = 'erasure';

export interface ListedErasure {
  readonly site: string;
  readonly subject: string;
}

/**
 * Erased data subjects, in a file outside the database and its backups: a restored database contains people who were
 * erased after the backup. Each line is encrypted, because the list holds the hashes of people who asked to be erased.
 */
export class ErasureList {
  constructor(
    private readonly path: string,
    private readonly sealer: Sealer,
  ) {}

  /** Resolves once the line is on disk. */
  async add(erasure: ListedErasure): Promise<void> {
    const sealed = this.sealer.seal(Buffer.from(JSON.stringify(erasure)), LABEL).toString('base64');
    try {
      const file = await open(this.path, 'a', 0o600);
      try {
        await file.appendFile(`${sealed}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new UserError(
        `The list of erasures ${this.path} cannot be written (${code}). Nothing was erased. Set ERASURE_LIST to a writable file.`,
      );
    }
  }

  /** Each person once, in the order of their first erasure. A line cut off by a crash is skipped: nothing was erased yet. */
  async read(): Promise<ListedErasure[]> {
    const lines = (await this.text()).split('\n').slice(0, -1);
    const distinct = new Set(lines.map((line) => this.unseal(line)));
    return [...distinct].map((text) => JSON.parse(text) as ListedErasure);
  }

  private unseal(line: string): string {
    return this.sealer.open(Buffer.from(line, 'base64'), LABEL).toString();
  }

  private async text(): Promise<string> {
    try {
      return await readFile(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw new UserError(`The list of erasures ${this.path} cannot be read. Check ERASURE_LIST.`);
    }
  }
}
