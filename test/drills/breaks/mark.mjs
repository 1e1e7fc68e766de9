// A switch records here that it changed something: a switch without effect proves nothing.
import { appendFileSync } from 'node:fs';

export function mark(what) {
  if (process.env.DRILL_MARKS) appendFileSync(process.env.DRILL_MARKS, `${what}\n`);
}
