import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sealer } from './sealing.js';
import type { Settings } from './settings.js';

/** The key from the settings; with an embedded database, one that is made once and kept beside the data. */
export function openSealer(settings: Settings): Sealer {
  return new Sealer(settings.secretKey ?? keyFromFile(settings.dataDir), settings.secretKeyPrevious);
}

function keyFromFile(dataDir: string): Buffer {
  const file = join(dataDir, 'secret-key');
  mkdirSync(dataDir, { recursive: true });
  try {
    // Fails when the file exists: of two processes that start at once, one makes the key and both read it.
    writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return Buffer.from(readFileSync(file, 'utf8').trim(), 'hex');
}
