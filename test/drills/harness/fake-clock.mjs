// The clock of single processes, through libfaketime. The host's clock is never changed.
import { existsSync, renameSync, writeFileSync } from 'node:fs';

const LIBRARIES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib', '/usr/local/lib'].map(
  (folder) => `${folder}/faketime/libfaketimeMT.so.1`,
);

export class FakeClock {
  constructor(file) {
    this.file = file;
    this.library = LIBRARIES.find(existsSync);
    if (!this.library) throw new Error('This drill needs libfaketime: install the package libfaketime.');
    this.set(0);
  }

  /** Seconds ahead of the host's clock; negative: behind. Applies at once to every process that runs with `env`. */
  set(seconds) {
    // Renamed into place: a process must never read half of it.
    writeFileSync(`${this.file}.new`, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`, { mode: 0o644 });
    renameSync(`${this.file}.new`, this.file);
    this.seconds = seconds;
  }

  get env() {
    return {
      LD_PRELOAD: this.library,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1',
      // Timers must go on while the time of day jumps.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }
}
