import type { Readable, Writable } from 'node:stream';
import { Command } from 'commander';
import { messageOf, SitePaused, UserError } from '../kernel/errors.js';
import { productVersion } from '../kernel/product-version.js';
import { addAlerts } from './alerts.commands.js';
import { SecretInput } from './arguments/secret-input.js';
import { addBackup } from './backup.commands.js';
import { addCompletion } from './completion.commands.js';
import { addConversions } from './conversions.commands.js';
import { addDoctor } from './doctor.commands.js';
import { addEvents } from './events.commands.js';
import { addHistory } from './history/history.commands.js';
import { addProjections } from './history/projections.commands.js';
import { addReplay } from './history/replay.commands.js';
import { addInbound } from './inbound.commands.js';
import { withItsCell } from './its-cell.js';
import { addKeys } from './keys.commands.js';
import { Output, OutputClosed } from './output/output.js';
import { addPlatforms } from './platforms.commands.js';
import { Session } from './session.js';
import { addSites } from './sites.commands.js';
import { addSources } from './sources.commands.js';
import { addStart } from './start.command.js';
import { CommanderExit, throwOnExit, UsageError, withMeantOption } from './subcommand.js';
import { addSync } from './sync.commands.js';
import { addUsers } from './users.commands.js';
import { addVisitors } from './visitors.commands.js';
import { addWebhook } from './webhook.commands.js';

const USER_ERROR = 1;
const WRONG_USAGE = 2;
/** The exit code that shells report for a program ended by Ctrl-C. */
const INTERRUPTED = 130;

interface CliEnvironment {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly stdin?: Readable;
  readonly stop?: AbortSignal;
}

/** Runs one command and returns the exit code. `argv` does not contain the program name. */
export async function runCli(argv: readonly string[], environment: CliEnvironment): Promise<number> {
  const { env, stdout, stderr, stdin, stop = new AbortController().signal } = environment;
  const output = new Output(stdout, stderr, env);
  const session = new Session(env, output, stop, new SecretInput(stdin), stdin);
  const program = throwOnExit(new Command('clean-conversions'))
    .description(
      'Start Clean Conversions, or manage its sites, keys, platforms, events and projections with or without a running service.',
    )
    .version(productVersion(), '-V, --version', 'print the version')
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: () => {},
    })
    .addHelpText(
      'after',
      '\nExample:\n  clean-conversions sites add shop.example\n\nSettings come from the same environment variables as for the service.',
    );
  for (const add of [
    addStart,
    addSites,
    addInbound,
    addKeys,
    addPlatforms,
    addSources,
    addConversions,
    addWebhook,
    addAlerts,
    addSync,
    addEvents,
    addReplay,
    addHistory,
    addProjections,
    addVisitors,
    addUsers,
    addBackup,
    addDoctor,
    addCompletion,
  ])
    add(program, session);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return session.exitCode;
  } catch (error) {
    const { line, exitCode } = describeError(
      await withItsCell(withMeantOption(error, program, argv), env),
      env['LOG_LEVEL'] === 'debug',
      stop.aborted,
    );
    if (line) output.error(line);
    return exitCode;
  } finally {
    // The result is printed by now, so a database that fails while closing does not matter.
    await session.close().catch(() => {});
    output.endProgress();
  }
}

function describeError(error: unknown, debug: boolean, interrupted: boolean): { line?: string; exitCode: number } {
  if (error instanceof OutputClosed) return { exitCode: 0 };
  if (error instanceof CommanderExit)
    return { ...usageLine(error), exitCode: error.commanderError.exitCode === 0 ? 0 : WRONG_USAGE };
  if (error instanceof UsageError) return { line: messageOf(error), exitCode: WRONG_USAGE };
  const exitCode = interrupted ? INTERRUPTED : USER_ERROR;
  if (error instanceof UserError || error instanceof SitePaused) return { line: messageOf(error), exitCode };
  if (debug) return { line: (error as Error).stack ?? messageOf(error), exitCode };
  const message = messageOf(error).split('\n')[0]?.replace(/\.$/, '');
  return { line: `Failed: ${message}. Run the command again; LOG_LEVEL=debug prints the stack trace.`, exitCode };
}

/** Commander's message on one line, with the help command to run next. Help itself is already printed. */
function usageLine({ commanderError, commandPath }: CommanderExit): { line?: string } {
  if (/^commander\.(help|version)/.test(commanderError.code)) return {};
  const [first = '', ...rest] = commanderError.message.replace(/^error: /, '').split('\n');
  const message = `${first.charAt(0).toUpperCase()}${first.slice(1).replace(/\.$/, '')}.`;
  const suggestion = rest.map((line) => ` ${line.replace(/^\((.*)\)$/, '$1')}`).join('');
  return { line: `${message}${suggestion} "${`${commandPath} --help`.trim()}" shows the usage.` };
}
