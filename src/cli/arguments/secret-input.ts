import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { messageOf, UserError } from '../../kernel/errors.js';
import { UsageError } from '../subcommand.js';

const INPUT_MAX_BYTES = 64 * 1024;

/**
 * Values of options that may be secrets. Arguments are visible to every user of the machine and stay in the shell's history, so
 * `-` reads a value from standard input instead. Only one can: the input ends with it.
 */
export class SecretInput {
  private readBy: string | undefined;

  constructor(private readonly stdin: Readable | undefined) {}

  /** `name` names the value in errors, which never contain it. */
  async value(name: string, given: string): Promise<string> {
    if (given !== '-') return given;
    if (this.readBy !== undefined)
      throw new UsageError(`Standard input can hold one value, and ${this.readBy} reads it. Read ${name} from a file.`);
    this.readBy = name;
    if (!this.stdin) throw new UserError(`${name}: there is no standard input to read from.`);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of this.stdin) {
      chunks.push(Buffer.from(chunk as Buffer | string));
      bytes += (chunks.at(-1) as Buffer).length;
      if (bytes > INPUT_MAX_BYTES) throw tooLong(name);
    }
    return withoutLineEnd(name, Buffer.concat(chunks).toString());
  }

  file(name: string, path: string): string {
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (error) {
      throw new UserError(`${name}: ${path} cannot be read: ${messageOf(error)}.`);
    }
    if (text.length > INPUT_MAX_BYTES) throw tooLong(name);
    return withoutLineEnd(name, text);
  }
}

/** Editors and `echo` end a line that is not part of the value. An empty value would remove the setting. */
function withoutLineEnd(name: string, text: string): string {
  const value = text.replace(/\r?\n$/, '');
  if (value.trim() === '') throw new UserError(`${name}: the input is empty. Nothing was changed.`);
  return value;
}

function tooLong(name: string): UserError {
  return new UserError(`${name}: the input is longer than ${INPUT_MAX_BYTES / 1024} KiB.`);
}
