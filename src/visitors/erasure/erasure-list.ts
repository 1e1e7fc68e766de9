import { constants } from 'node:fs';
import { access, type FileHandle, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Pool } from 'pg';
import { UserError } from '../../kernel/errors.js';
import type { CountedByKey, Sealer } from '../../kernel/sealing.js';

const LABEL = 'erasure';
/** Advisory lock of the process that writes the list, on any machine. */
const LIST_LOCK = 4845010;

export interface ListedErasure {
  readonly site: string;
  readonly subject: string;
  /** Position of the erasure event. Undefined before it was carried out, and in lists of versions before 0.3. */
  readonly position?: number;
}

/**
 * Erased data subjects, in a file outside the database and its backups: a restored database contains people who were
 * erased after the backup. Each erasure has two lines: before it begins, and with its position when it is done. Each line is encrypted, because the list holds the hashes of people who asked to be erased.
 */
export class ErasureList {
  constructor(
    readonly path: string,
    private readonly sealer: Sealer,
    /** Runs one writer at a time. */
    private readonly exclusive: <Result>(work: () => Promise<Result>) => Promise<Result>,
  ) {}

  /** Resolves once the line is on disk. */
  async add(erasure: ListedErasure): Promise<void> {
    const sealed = this.seal(Buffer.from(JSON.stringify(erasure)));
    await this.exclusive(async () => {
      await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
      const file = await open(this.path, 'a+', 0o600);
      try {
        await cutOffIncompleteLine(file);
        await file.appendFile(`${sealed}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await syncFolder(this.path);
    }).catch((error: NodeJS.ErrnoException) => {
      throw new UserError(
        `The list of erasures ${this.path} cannot be written (${error.code}). ${
          erasure.position === undefined ? 'Nothing was erased.' : 'The person was erased: do it again when it can be.'
        } Set ERASURE_LIST to a writable file.`,
      );
    });
  }

  /**
   * Each person once, in the order of their first erasure, with the position of the last one; without it, if that was not carried out.
   * A line cut off by a crash is skipped: nothing was erased yet.
   */
  async read(): Promise<ListedErasure[]> {
    const people = new Map<string, ListedErasure>();
    for (const line of await this.lines()) {
      const { site, subject, position } = JSON.parse(this.sealer.open(line, LABEL).toString()) as ListedErasure;
      const person = `${site} ${subject}`;
      const last = Math.max(position ?? 0, people.get(person)?.position ?? 0);
      people.set(person, { site, subject, ...(position !== undefined && { position: last }) });
    }
    return [...people.values()];
  }

  /** Subjects of one site, as of each call. Reads the file again only if it has changed. */
  subjectsOf(host: string): () => Promise<ReadonlySet<string>> {
    let read: { readonly version: string; readonly subjects: ReadonlySet<string> } | undefined;
    return async () => {
      const version = await stat(this.path).then(
        ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
        (error: NodeJS.ErrnoException) => `${error.code}`,
      );
      if (read?.version !== version) {
        const erasures = await this.read();
        read = {
          version,
          subjects: new Set(erasures.filter(({ site }) => site === host).map(({ subject }) => subject)),
        };
      }
      return read.subjects;
    };
  }

  /** Encrypts with the current key all lines that only the previous key decrypts. Returns their number. */
  reencrypt(): Promise<number> {
    return this.exclusive(async () => {
      let reencrypted = 0;
      const lines = (await this.lines()).map((line) => {
        const opened = this.sealer.tryOpen(line, LABEL);
        if (opened?.by !== 'previous') return line.toString('base64');
        reencrypted += 1;
        return this.seal(opened.plain);
      });
      if (reencrypted > 0) await replaceFile(await realpath(this.path), lines.map((line) => `${line}\n`).join(''));
      return reencrypted;
    });
  }

  async countByKey(): Promise<CountedByKey> {
    const found: CountedByKey = { current: 0, previous: 0, unreadable: [] };
    for (const [index, line] of (await this.lines()).entries()) {
      const opened = this.sealer.tryOpen(line, LABEL);
      if (opened) found[opened.by] += 1;
      else found.unreadable.push(`line ${index + 1} of ${this.path}`);
    }
    return found;
  }

  /** Whether an erasure can be listed. Writes nothing: the folder is created by the first one. */
  async isWritable(): Promise<boolean> {
    for (let path = this.path; ; path = dirname(path)) {
      try {
        await access(path, constants.W_OK);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return false;
      }
    }
  }

  private seal(plain: Buffer): string {
    return this.sealer.seal(plain, LABEL).toString('base64');
  }

  private async lines(): Promise<Buffer[]> {
    const text = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw new UserError(`The list of erasures ${this.path} cannot be read (${error.code}). Check ERASURE_LIST.`);
    });
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => Buffer.from(line, 'base64'));
  }
}

/** The lock is in the database, because several machines may share the file. */
export function openErasureList(path: string, sealer: Sealer, pool: Pool): ErasureList {
  return new ErasureList(path, sealer, async (work) => {
    const client = await pool.connect();
    try {
      await client.query('SELECT pg_advisory_lock($1)', [LIST_LOCK]);
      return await work();
    } finally {
      // Closing the connection releases the lock.
      client.release(true);
    }
  });
}

/** What a crash left behind would make the next line unreadable. */
async function cutOffIncompleteLine(file: FileHandle): Promise<void> {
  const text = await file.readFile('latin1');
  if (!text.endsWith('\n')) await file.truncate(text.lastIndexOf('\n') + 1);
}

/** Readers see the old content or the new one, also after a crash. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncFolder(path);
}

/** A new name survives a power failure only once its folder is on disk. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
