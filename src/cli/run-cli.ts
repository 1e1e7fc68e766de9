import type { Writable } from 'node:stream';
import { Command } from 'commander';
import { messageOf, UserError } from '../kernel/errors.js';
import { addDoctor } from './doctor.commands.js';
import { addEvents } from './events.commands.js';
import { addHistory } from './history.commands.js';
import { addInbound } from './inbound.commands.js';
import { addKeys } from './keys.commands.js';
import { Output, OutputClosed } from './output.js';
import { addPlatforms } from './platforms.commands.js';
import { addProjections } from './projections.commands.js';
import { addReplay } from './replay.commands.js';
import { Session } from './session.js';
import { addSites } from './sites.commands.js';
import { Ended, kindly, WrongUsage } from './verb.js';

const USER_ERROR = 1;
const WRONG_USAGE = 2;
/** As a shell says it of a program that was ended by Ctrl-C. */
const INTERRUPTED = 130;

export interface CliSurroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly stop?: AbortSignal;
}

/** Runs one verb, `argv` without the program's own name, and tells the exit code. */
export async function runCli(argv: readonly string[], surroundings: CliSurroundings): Promise<number> {
  const { env, stdout, stderr, stop = new AbortController().signal } = surroundings;
  const output = new Output(stdout, stderr);
  const session = new Session(env, output, stop);
  const program = kindly(new Command('clean-conversions'))
    .description(
      'Sites, keys, platforms, events and read models of Clean Conversions. Works beside a running service and without one.',
    )
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: () => {},
    })
    .addHelpText(
      'after',
      '\nExample:\n  clean-conversions sites add shop.example\n\nSettings come from the same environment as the service.',
    );
  for (const add of [
    addSites,
    addInbound,
    addKeys,
    addPlatforms,
    addEvents,
    addReplay,
    addHistory,
    addProjections,
    addDoctor,
  ])
    add(program, session);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return session.exitCode;
  } catch (error) {
    const { line, exitCode } = verdictOf(error, env['LOG_LEVEL'] === 'debug', stop.aborted);
    if (line) output.note(line);
    return exitCode;
  } finally {
    // What was asked for is done and said by now: a database that went away meanwhile changes nothing about it.
    await session.close().catch(() => {});
    output.endProgress();
  }
}

function verdictOf(error: unknown, debug: boolean, interrupted: boolean): { line?: string; exitCode: number } {
  if (error instanceof OutputClosed) return { exitCode: 0 };
  if (error instanceof Ended) return { ...usageLine(error), exitCode: error.why.exitCode === 0 ? 0 : WRONG_USAGE };
  if (error instanceof WrongUsage) return { line: messageOf(error), exitCode: WRONG_USAGE };
  const exitCode = interrupted ? INTERRUPTED : USER_ERROR;
  if (error instanceof UserError) return { line: messageOf(error), exitCode };
  if (debug) return { line: (error as Error).stack ?? messageOf(error), exitCode };
  const what = messageOf(error).split('\n')[0]?.replace(/\.$/, '');
  return { line: `That did not work: ${what}. Try again; LOG_LEVEL=debug shows where it happened.`, exitCode };
}

/** Commander's words, on one line, with where to look next. Help has been printed already. */
function usageLine({ why, verb }: Ended): { line?: string } {
  if (/^commander\.(help|version)/.test(why.code)) return {};
  const [first = '', ...rest] = why.message.replace(/^error: /, '').split('\n');
  const said = `${first.charAt(0).toUpperCase()}${first.slice(1).replace(/\.$/, '')}.`;
  const suggestion = rest.map((line) => ` ${line.replace(/^\((.*)\)$/, '$1')}`).join('');
  return { line: `${said}${suggestion} "${`${verb} --help`.trim()}" shows what there is.` };
}
