import { Command, type CommanderError } from 'commander';

/** The line that was typed makes no sense as it is: exit code 2. */
export class WrongUsage extends Error {
  override readonly name = 'WrongUsage';
}

/** Commander has said its last word: it showed help, or it found a mistake. */
export class Ended extends Error {
  constructor(
    readonly why: CommanderError,
    /** `sites add`; empty at the top. */
    readonly verb: string,
  ) {
    super(why.message);
  }
}

export function commandGroup(parent: Command, name: string, description: string): Command {
  return kindly(parent.command(name).description(description));
}

/** What can be done within a group. All of them can answer in JSON, and show how they are typed. */
export function verb(parent: Command, usage: string, description: string, example: string): Command {
  const command = kindly(parent.command(usage).description(description));
  return command
    .option('--json', 'print JSON and nothing else')
    .addHelpText('after', `\nExample:\n  clean-conversions ${example}`);
}

/** For options that may be given several times. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}

export function kindly(command: Command): Command {
  return command.exitOverride((why) => {
    throw new Ended(why, pathOf(command));
  });
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : '';
}
