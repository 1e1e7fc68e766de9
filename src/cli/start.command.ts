import type { Command } from 'commander';
import { throwOnExit } from './subcommand.js';

const NAME = 'start';

/** The service replaces the command line in its process, so the command is recognised before the others are set up. */
export function isStart(argv: readonly string[]): boolean {
  return argv.length === 1 && argv[0] === NAME;
}

/** Lists the command, and answers `--help` and arguments that it does not take. */
export function addStart(program: Command): void {
  throwOnExit(program.command(NAME).description('Start the service, and print its address and how to try it'))
    .addHelpText('after', '\nExample:\n  PORT=8080 clean-conversions start')
    // Only reached with an argument list that is not exactly the command, such as `-- start`.
    .action(() => program.error(`error: use "clean-conversions ${NAME}" without other arguments`));
}
