import { diskFullError } from '../../kernel/disk-space.js';
import { type Layout, layoutOf, paint, type Terminal } from './layout.js';
import { type Columns, table } from './table.js';

/** The reader of standard output has exited (`| head`). The command ends without an error message. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

const BAR_WIDTH = 30;

/** Standard output carries the result only. Notes, errors and progress go to standard error. */
export class Output {
  private hasProgress = false;

  constructor(
    private readonly stdout: Terminal,
    private readonly stderr: Terminal,
    private readonly env: NodeJS.ProcessEnv = {},
  ) {
    // The callback of `write` reports a broken pipe. Without a listener the stream's error event would end the process.
    for (const stream of [stdout, stderr]) stream.on('error', () => {});
  }

  /** Resolves when the text is written, so that a slow reader slows the command down instead of filling its memory. */
  print(text: string | Uint8Array): Promise<void> {
    this.endProgress();
    return new Promise((resolve, reject) => {
      this.stdout.write(text, (error) => {
        if (!error) resolve();
        else reject(outputError(error));
      });
    });
  }

  /** Prints the result as one JSON document or as text. */
  show(json: boolean | undefined, document: unknown, readable: (layout: Layout) => string): Promise<void> {
    return this.print(json ? `${JSON.stringify(document)}\n` : readable(this.layout));
  }

  showTable<Row>(json: boolean | undefined, rows: readonly Row[], columns: Columns<Row>): Promise<void> {
    return this.show(json, rows, (layout) => table(rows, columns, layout));
  }

  /** Layout of standard output. */
  get layout(): Layout {
    return layoutOf(this.stdout, this.env);
  }

  /** Whether a person reads what is printed. */
  get isTerminal(): boolean {
    return this.stdout.isTTY === true && this.stderr.isTTY === true;
  }

  note(line: string): void {
    this.endProgress();
    this.stderr.write(`${line}\n`);
  }

  error(line: string): void {
    this.note(paint(layoutOf(this.stderr, this.env), 'red', line));
  }

  /** A question that is answered on the same line. */
  ask(question: string): void {
    this.endProgress();
    this.stderr.write(question);
  }

  /** Prints a line that the next one overwrites, on terminals only. Cut at their width: a second line would not be overwritten. */
  progress(line: string): void {
    const { isTTY, columns } = this.stderr;
    if (!isTTY) return;
    this.hasProgress = true;
    this.stderr.write(`\r\u001b[K${columns ? line.slice(0, columns - 1) : line}`);
  }

  endProgress(): void {
    if (this.hasProgress) this.stderr.write('\r\u001b[K');
    this.hasProgress = false;
  }
}

function outputError(error: NodeJS.ErrnoException): Error {
  if (error.code === 'EPIPE') return new OutputClosed();
  return diskFullError(error, 'No space is left where the output is written to', 'run the command again') ?? error;
}

/** @param done from 0 to 1 */
export function progressBar(done: number): string {
  const filled = Math.floor(done * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_WIDTH - filled)}] ${String(Math.floor(done * 100)).padStart(3)} %`;
}
