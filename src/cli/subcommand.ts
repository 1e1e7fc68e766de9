import { type Command, CommanderError } from 'commander';
import { nearest } from '../kernel/nearest.js';

/** The arguments are invalid: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Commander requests an exit: it printed help, or it found invalid arguments. */
export class CommanderExit extends Error {
  constructor(
    readonly commanderError: CommanderError,
    /** `sites add`; empty for the program itself. */
    readonly commandPath: string,
  ) {
    super(commanderError.message);
  }
}

export function commandGroup(parent: Command, name: string, description: string): Command {
  return throwOnExit(parent.command(name).description(description));
}

/** A command with the option --json and an example in its help. */
export function subcommand(parent: Command, usage: string, description: string, example: string): Command {
  const command = throwOnExit(parent.command(usage).description(description));
  return command
    .option('--json', 'print JSON and nothing else')
    .addHelpText('after', `\nExample:\n  clean-conversions ${example}`);
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}

/** Reads `name=value`. */
export function readSetting(option: string, example: string, text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  // The message does not repeat the text: it may be a secret given without its name.
  if (at < 1) throw new UsageError(`${option} takes a name and a value, such as ${option} ${example}.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Commander exits the process by default. */
export function throwOnExit(command: Command): Command {
  return command.exitOverride((error) => {
    throw new CommanderExit(error, pathOf(command));
  });
}

/** A misspelt option is named first, with the one that was meant: otherwise the required option would seem to be missing. */
export function withMeantOption(error: unknown, program: Command, argv: readonly string[]): unknown {
  if (!(error instanceof CommanderExit)) return error;
  const { code } = error.commanderError;
  if (code !== 'commander.unknownOption' && code !== 'commander.missingMandatoryOptionValue') return error;
  const known = optionsOf(program, error.commandPath);
  const [unknown] = argv
    .map((word) => word.split('=')[0] as string)
    .filter((word) => /^--[a-z]/.test(word) && !known.includes(word));
  if (unknown === undefined) return error;
  const meant = nearest(unknown, known);
  const message = `unknown option '${unknown}'${meant === undefined ? '' : `\n(Did you mean ${meant}?)`}`;
  return new CommanderExit(new CommanderError(2, 'commander.unknownOption', message), error.commandPath);
}

function optionsOf(program: Command, path: string): string[] {
  const names = path.split(' ').filter(Boolean);
  const command = names.reduce<Command | undefined>(
    (parent, name) => parent?.commands.find((each) => each.name() === name),
    program,
  );
  return [...(command?.options ?? []).flatMap(({ long }) => long ?? []), '--help'];
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : '';
}
