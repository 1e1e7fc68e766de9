import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, UserError } from './errors.js';
import { Sealer } from './sealing.js';
import { secretKey } from './settings/setting-formats.js';
import type { Settings } from './settings/settings.js';

/** Uses the key from the settings; with an embedded database, a key that is created once and stored in the data folder. */
export function openSealer(settings: Settings): Sealer {
  return new Sealer(settings.secretKey ?? keyFromFile(settings.dataDir), settings.secretKeyPrevious);
}

function keyFromFile(dataDir: string): Buffer {
  const file = join(dataDir, 'secret-key');
  try {
    if (!existsSync(file)) createKey(dataDir, file);
    return secretKey(readFileSync(file, 'utf8').trim());
  } catch (error) {
    throw new UserError(
      `${file} cannot be used: ${messageOf(error)}. Set DATA_DIR to a folder that this user can write to.`,
    );
  }
}

/** Written to a temporary file and linked into place: processes that start at the same time all get the same complete key. */
function createKey(dataDir: string, file: string): void {
  mkdirSync(dataDir, { recursive: true });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, randomBytes(32).toString('hex'), { mode: 0o600 });
  try {
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary);
  }
}
