import { Command, type CommanderError } from 'commander';

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

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : '';
}
