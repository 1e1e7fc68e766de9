import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folders.js';

/** Debian installs it below the folder of the machine's architecture. */
const LIBRARY = readdirSync('/usr/lib')
  .map((folder) => join('/usr/lib', folder, 'faketime/libfaketimeMT.so.1'))
  .find((file) => existsSync(file));

export const hasFakeClock = LIBRARY !== undefined;

/** The wall clock of processes that are started with `environment`. Their monotonic clock stays right. */
export interface FakeClock {
  readonly environment: Record<string, string>;
  /** Such as `+400d`; `+0` is the right time. Takes effect at once, also in running processes. */
  set(offset: string): void;
  remove(): void;
}

export function createFakeClock(offset = '+0'): FakeClock {
  const folder = temporaryFolder('cc-clock-');
  const file = join(folder, 'offset');
  const set = (value: string) => {
    // Renamed: a process must not read the file while it is empty.
    writeFileSync(`${file}.new`, `${value}\n`, { mode: 0o644 });
    renameSync(`${file}.new`, file);
  };
  set(offset);
  return {
    environment: {
      LD_PRELOAD: LIBRARY as string,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
