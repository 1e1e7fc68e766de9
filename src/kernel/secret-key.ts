import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, UserError } from './errors.js';
import { Sealer } from './sealing.js';
import { secretKey } from './setting-formats.js';
import type { Settings } from './settings.js';

/** The key from the settings; with an embedded database, one that is made once and kept beside the data. */
export function openSealer(settings: Settings): Sealer {
  return new Sealer(settings.secretKey ?? keyFromFile(settings.dataDir), settings.secretKeyPrevious);
}

function keyFromFile(dataDir: string): Buffer {
  const file = join(dataDir, 'secret-key');
  try {
    if (!existsSync(file)) makeKey(dataDir, file);
    return secretKey(readFileSync(file, 'utf8').trim());
  } catch (error) {
    throw new UserError(
      `${file} cannot be used: ${messageOf(error)}. Set DATA_DIR to a folder that this user may write.`,
    );
  }
}

/** Written aside and linked into place: of several processes that start at once, all end up with the same whole key. */
function makeKey(dataDir: string, file: string): void {
  mkdirSync(dataDir, { recursive: true });
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, randomBytes(32).toString('hex'), { mode: 0o600 });
  try {
    linkSync(aside, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside);
  }
}
