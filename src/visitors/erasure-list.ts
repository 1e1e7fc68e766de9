import { open, readFile } from 'node:fs/promises';
import { UserError } from '../kernel/errors.js';
import type { Sealer } from '../kernel/sealing.js';

const LABEL = 'erasure';

export interface Erasing {
  readonly site: string;
  readonly subject: string;
}

/**
 * Who was erased, in a file apart from the database and not in its backups: a restored database has forgotten that it forgot.
 * One line each, sealed, because it names by hash exactly those who asked not to be named.
 */
export class ErasureList {
  constructor(
    private readonly path: string,
    private readonly sealer: Sealer,
  ) {}

  /** On disk when this resolves. */
  async add(erasing: Erasing): Promise<void> {
    const sealed = this.sealer.seal(Buffer.from(JSON.stringify(erasing)), LABEL).toString('base64');
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
        `The list of erasures ${this.path} cannot be written (${code}). Nobody was erased. Set ERASURE_LIST to a file that can.`,
      );
    }
  }

  /** Each once, in the order they were first erased. A line that was cut off by a crash had not been erased yet. */
  async read(): Promise<Erasing[]> {
    const lines = (await this.text()).split('\n').slice(0, -1);
    const people = new Map(lines.map((line) => [this.opened(line), true] as const));
    return [...people.keys()].map((text) => JSON.parse(text) as Erasing);
  }

  private opened(line: string): string {
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
