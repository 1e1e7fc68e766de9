import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { CommandExecutor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import type { Session } from './session.js';

export interface ConfirmationOptions {
  readonly yes?: true | undefined;
  readonly dryRun?: true | undefined;
  readonly json?: true | undefined;
}

/**
 * Without a person to ask: scripts were written for some commands before they asked, and these go on. Others require --yes.
 * (Decision 0026)
 */
type Unattended = 'go on' | 'require --yes';

const UNDOABLE = 'This cannot be undone.';

export const YES_HELP = 'do not ask for confirmation';

/** The options of a command that cannot be undone. */
export function withConfirmation(command: Command): Command {
  return command
    .option('--dry-run', 'check the command and show what it would change, without changing it')
    .option('--yes', YES_HELP);
}

/** Checks a command that cannot be undone, asks, and executes it; a dry run ends after the check. */
export async function executeConfirmed<Result>(
  session: Session,
  options: ConfirmationOptions,
  { question, unattended }: { question: string; unattended: Unattended },
  execute: (commands: CommandExecutor) => Promise<Result>,
): Promise<Result> {
  const { commands, dryRunCommands } = await session.open();
  const unchanged = await execute(dryRunCommands);
  if (options.dryRun) {
    if (!options.json) session.output.note('Dry run: nothing was changed.');
    return unchanged;
  }
  await confirm(session, options, question, unattended);
  return execute(commands);
}

/** Returns if the command may go on. */
export async function confirm(
  session: Session,
  { yes, json }: ConfirmationOptions,
  question: string,
  unattended: Unattended,
  warning = UNDOABLE,
): Promise<void> {
  if (yes) return;
  if (!json && session.isInteractive) {
    if (/^y(es)?$/i.test(await answerTo(session, `${question} ${warning}`))) return;
    throw new UserError(`${session.stop.aborted ? 'Interrupted' : 'Not confirmed'}: nothing was changed.`);
  }
  if (unattended === 'require --yes')
    throw new UserError(`${warning} Add --yes to confirm it, or --dry-run to see what it would change.`);
}

/** Empty at the end of the input, and after Ctrl-C. */
async function answerTo({ output, stdin, stop }: Session, question: string): Promise<string> {
  output.ask(`${question} [y/N] `);
  if (!stdin || stop.aborted) return '';
  // Not in the terminal mode of readline, in which Ctrl-C would be a character and not a signal.
  const lines = createInterface({ input: stdin, terminal: false, signal: stop });
  try {
    for await (const line of lines) return line.trim();
    return '';
  } finally {
    lines.close();
  }
}
