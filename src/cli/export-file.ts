import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { UserError } from '../kernel/errors.js';

/**
 * A file that appears when it is complete: nobody takes half an export for a whole one. What is no plain file (a pipe, a
 * device) is written as it is. Exports hold what is about people, so only their owner may read them.
 */
export async function writeFileWhole(
  path: string,
  work: (write: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const existing = await stat(path).catch(() => undefined);
  if (existing?.isDirectory()) throw new UserError(`--out: ${path} is a folder. Give the name of a file.`);
  const target = existing && !existing.isFile() ? path : `${path}.part`;
  const file = await open(target, 'w', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new UserError(`--out: ${path} cannot be written (${error.code}). Choose another file.`);
  });
  try {
    await work((text) => file.appendFile(text));
    await finish(file, target === path);
    if (target !== path) await rename(target, path);
  } catch (error) {
    await file.close().catch(() => {});
    if (target !== path) await rm(target, { force: true });
    throw error;
  }
}

async function finish(file: FileHandle, isDevice: boolean): Promise<void> {
  if (!isDevice) await file.sync();
  await file.close();
}
