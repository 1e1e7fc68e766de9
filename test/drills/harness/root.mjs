// The checkout whose build the drills run against: DRILL_ROOT, or this one.
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const ROOT = resolve(process.env.DRILL_ROOT ?? fileURLToPath(new URL('../../../', import.meta.url)));

/** A module of that build. */
export function fromBuild(path) {
  return import(pathToFileURL(join(ROOT, 'dist', path)).href);
}
