import { createHash } from 'node:crypto';
import { closeSync, constants, fsyncSync, openSync, readSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';
import { diskFullError } from '../kernel/disk-space.js';
import { UserError } from '../kernel/errors.js';
import type { TableColumns } from './tables.js';

/** What a backup tells about itself. */
export interface BackupHeader {
  /** Version of the service that made it. */
  readonly version: string;
  readonly migrations: readonly string[];
  /** In the order in which they can be filled. */
  readonly tables: readonly TableColumns[];
  readonly partitions: readonly { readonly first: string; readonly beyond: string }[];
  readonly sequences: readonly { readonly name: string; readonly value: string; readonly called: boolean }[];
  /** ISO time of the snapshot. */
  readonly time: string;
  /** A known text, encrypted with SECRET_KEY. */
  readonly keyCheck: string;
}

/** Rows of one table, as COPY writes them. */
export interface Block {
  readonly table: string;
  readonly rows: Buffer;
}

/**
 * A backup is a file: this line, the header, and the blocks of all tables, each with its length, compressed on its own; then the SHA-256 of
 * everything before.
 */
const FIRST_LINE = Buffer.from('clean-conversions backup 1\n');
const DIGEST_BYTES = 32;
const LENGTH_BYTES = 4;
const READ_BYTES = 1 << 20;

/** Written to `<file>.part`, which is renamed when it is complete. Only its owner can read it. */
export class ArchiveWriter {
  bytes = 0;
  private readonly part: string;
  private readonly hash = createHash('sha256');
  private readonly descriptor: number;

  constructor(
    private readonly file: string,
    header: BackupHeader,
  ) {
    if (statSync(file, { throwIfNoEntry: false }))
      throw new UserError(`${file} exists already. Give another name, or remove it.`);
    this.part = `${file}.part`;
    this.descriptor = opened(this.part, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 'written');
    try {
      this.write(FIRST_LINE);
      this.writeFrame(header);
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  add({ table, rows }: Block): void {
    this.writeFrame({ table });
    this.writeFrame(rows);
  }

  finish(): void {
    this.write(this.hash.digest(), false);
    fsyncSync(this.descriptor);
    closeSync(this.descriptor);
    renameSync(this.part, this.file);
    // Otherwise the name may be lost with the power.
    const folder = openSync(dirname(this.file), 'r');
    fsyncSync(folder);
    closeSync(folder);
  }

  discard(): void {
    closeSync(this.descriptor);
    rmSync(this.part, { force: true });
  }

  private writeFrame(content: object): void {
    const bytes = deflateSync(Buffer.isBuffer(content) ? content : JSON.stringify(content), { level: 3 });
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(bytes.length);
    this.write(length);
    this.write(bytes);
  }

  private write(bytes: Buffer, isHashed = true): void {
    if (isHashed) this.hash.update(bytes);
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.descriptor, bytes, done);
    } catch (error) {
      throw diskFullError(error, `${this.file} cannot be completed`, 'run the command again') ?? error;
    }
    this.bytes += bytes.length;
  }
}

/** The checksum is compared before anything is read. */
export class ArchiveReader {
  readonly header: BackupHeader;
  private readonly descriptor: number;
  private readonly end: number;
  private position = 0;

  constructor(private readonly file: string) {
    this.descriptor = opened(file, constants.O_RDONLY, 'read');
    try {
      this.end = statSync(file).size - DIGEST_BYTES;
      if (!this.read(FIRST_LINE.length).equals(FIRST_LINE))
        throw new UserError(`${file} is no backup of Clean Conversions.`);
      this.verify();
      this.header = JSON.parse(this.readFrame().toString());
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** From 0 to 1. */
  get done(): number {
    return this.position / this.end;
  }

  *blocks(): Generator<Block> {
    while (this.position < this.end) {
      const { table } = JSON.parse(this.readFrame().toString());
      yield { table, rows: this.readFrame() };
    }
  }

  close(): void {
    closeSync(this.descriptor);
  }

  private verify(): void {
    const start = this.position;
    const hash = createHash('sha256').update(FIRST_LINE);
    while (this.position < this.end) hash.update(this.read(Math.min(READ_BYTES, this.end - this.position)));
    if (this.end < start || !hash.digest().equals(this.read(DIGEST_BYTES)))
      throw new UserError(
        `${this.file} is incomplete or was altered: its checksum does not match. Nothing was restored. Use another backup.`,
      );
    this.position = start;
  }

  private readFrame(): Buffer {
    return inflateSync(this.read(this.read(LENGTH_BYTES).readUInt32BE()));
  }

  private read(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    let done = 0;
    while (done < length) {
      const read = readSync(this.descriptor, bytes, done, length - done, this.position + done);
      if (read === 0) break;
      done += read;
    }
    this.position += done;
    return bytes.subarray(0, done);
  }
}

function opened(file: string, flags: number, purpose: 'read' | 'written'): number {
  try {
    return openSync(file, flags, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(`${file} cannot be ${purpose} (${code}). Choose another file.`);
  }
}
