import { userInfo } from 'node:os';
import type { Actor } from '../kernel/command.js';

/** Who runs the command line, as far as the operating system knows. */
export const CLI_ACTOR: Actor = `cli:${userName()}`;

function userName(): string {
  try {
    const { username } = userInfo();
    if (/^[\w.@-]{1,64}$/.test(username)) return username;
  } catch {
    // A container may run as a number without a name.
  }
  return `uid-${process.getuid?.() ?? 'unknown'}`;
}
