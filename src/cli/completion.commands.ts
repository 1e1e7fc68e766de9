import { Argument, type Command } from 'commander';
import { completionScript, SHELLS, type Shell } from './completion.js';
import type { Session } from './session.js';
import { subcommand } from './subcommand.js';

export function addCompletion(program: Command, { output }: Session): void {
  subcommand(
    program,
    'completion',
    'Print a script that completes commands and options in a shell',
    'completion bash >> ~/.bashrc',
  )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: Shell, { json }: { json?: true }) => {
      const script = completionScript(program, shell);
      await output.show(json, { shell, script }, () => script);
    });
}
