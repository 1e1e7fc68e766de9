// Records of the drill, outside the system: one file per kind, one line per record, loaded into PostgreSQL for the checks.
import { closeSync, openSync, writeSync } from 'node:fs';

const BUFFERED_CHARS_MAX = 64 * 1024;

export class LedgerFile {
  #fd;
  #buffered = '';
  count = 0;

  constructor(path) {
    this.path = path;
    this.#fd = openSync(path, 'a', 0o644);
  }

  add(...fields) {
    this.count += 1;
    this.#buffered += `${fields.join('\t')}\n`;
    if (this.#buffered.length > BUFFERED_CHARS_MAX) this.flush();
  }

  flush() {
    if (this.#buffered !== '') writeSync(this.#fd, this.#buffered);
    this.#buffered = '';
  }

  close() {
    this.flush();
    closeSync(this.#fd);
  }
}
