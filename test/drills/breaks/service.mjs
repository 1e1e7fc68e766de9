// The modules of the service that a switch changes, from the checkout that it runs from.
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { DRILL_ROOT, DRILL_MARKS } = process.env;

export const pg = createRequire(join(DRILL_ROOT, 'package.json'))('pg');

export function fromBuild(path) {
  return import(pathToFileURL(join(DRILL_ROOT, 'dist', path)).href);
}

/** Replaces a function of the service by what `make` returns for it. */
export function replace(target, name, make) {
  if (typeof target[name] !== 'function') throw new TypeError(`The service has no ${name} that a switch could change.`);
  target[name] = make(target[name]);
}

/** Records that a switch changed something: one without effect proves nothing. */
export function mark(what) {
  if (DRILL_MARKS) appendFileSync(DRILL_MARKS, `${what}\n`);
}
