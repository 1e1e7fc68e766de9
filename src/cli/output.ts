import type { Writable } from 'node:stream';

/** The reader of standard output has exited (`| head`). The command ends without an error message. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

const BAR_WIDTH = 30;

type Terminal = Writable & { readonly isTTY?: boolean };

/** Standard output carries the result only. Notes, errors and progress go to standard error. */
export class Output {
  private hasProgress = false;

  constructor(
    private readonly stdout: Terminal,
    private readonly stderr: Terminal,
  ) {
    // The callback of `write` reports a broken pipe. Without a listener the stream's error event would end the process.
    for (const stream of [stdout, stderr]) stream.on('error', () => {});
  }

  /** Resolves when the text is written, so that a slow reader slows the command down instead of filling its memory. */
  print(text: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.stdout.write(text, (error) => {
        if (!error) resolve();
        else reject((error as NodeJS.ErrnoException).code === 'EPIPE' ? new OutputClosed() : error);
      });
    });
  }

  /** Prints the result as one JSON document or as text. */
  show(json: boolean | undefined, document: unknown, readable: () => string): Promise<void> {
    return this.print(json ? `${JSON.stringify(document)}\n` : readable());
  }

  note(line: string): void {
    this.endProgress();
    this.stderr.write(`${line}\n`);
  }

  /** Prints a line that the next one overwrites, on terminals only. */
  progress(line: string): void {
    if (!this.stderr.isTTY) return;
    this.hasProgress = true;
    this.stderr.write(`\r\u001b[K${line}`);
  }

  endProgress(): void {
    if (this.hasProgress) this.stderr.write('\r\u001b[K');
    this.hasProgress = false;
  }
}

/** @param done from 0 to 1 */
export function progressBar(done: number): string {
  const filled = Math.floor(done * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_WIDTH - filled)}] ${String(Math.floor(done * 100)).padStart(3)} %`;
}

export type Columns<Row> = Readonly<Record<string, (row: Row) => unknown>>;

export function table<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const lines = [Object.keys(columns), ...rows.map((row) => Object.values(columns).map((cell) => readable(cell(row))))];
  const widths = Object.keys(columns).map((_, at) => Math.max(...lines.map((line) => (line[at] as string).length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, at) => cell.padEnd(widths[at] as number))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** One line per property. */
export function card(properties: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(properties).map((name) => name.length));
  return Object.entries(properties)
    .map(([name, value]) => `${name.padEnd(width)}  ${readable(value)}\n`)
    .join('');
}

function readable(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? '-' : printable(value.join(', '));
  return printable(String(value));
}

/** Escapes control and formatting characters: order ids and names are untrusted and must not control the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`;
  });
}
