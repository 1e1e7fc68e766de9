import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { runCli } from '../src/cli/run-cli.js';
import { SECRET_KEY } from './support/secret-key.js';

const WRONG_USAGE = 2;
/** Nothing listens there: a command that is understood fails because of that. */
const ENVIRONMENT = { DATABASE_URL: 'postgres://nobody:none@127.0.0.1:1/none', SECRET_KEY };
const PAGES = readdirSync('docs', { recursive: true })
  .map((file) => join('docs', String(file)))
  .filter((file) => file.endsWith('.md'));

/** The blocks of the language `text` are not run, because they need a registry, containers, another machine or an account. */
describe('a command of the command line in a block that is shown only', () => {
  const shown = ['README.md', 'CONTRIBUTING.md', ...PAGES].flatMap((file) =>
    commandsOf(readFileSync(file, 'utf8')).map((command) => [command, file] as const),
  );

  it('exists', () => expect(shown.length).toBeGreaterThan(60));

  it.each(shown)('%s (%s) is understood', async (command) => {
    let text = '';
    const output = new Writable({
      write(chunk, _, done) {
        text += chunk;
        done();
      },
    });
    const exitCode = await runCli(wordsOf(command), { env: ENVIRONMENT, stdout: output, stderr: output });
    expect([exitCode === WRONG_USAGE, text]).toEqual([false, text]);
  });
});

/** Behind what starts it: npx, sudo, a container. Starting the service is no command of the command line. */
function commandsOf(page: string): string[] {
  const blocks = [...page.matchAll(/^( *)```text\n([\s\S]*?)^\1```$/gm)].map(([, , block = '']) => block);
  const lines = blocks.flatMap((block) => block.replace(/ *\\\n */g, ' ').split('\n'));
  return lines.flatMap((line) => {
    const [, command = ''] =
      /^ *(?:[^#]*(?:npx|sudo|exec service|--) )clean-conversions (.*?)(?: *[<>|#] .*)?$/.exec(line) ?? [];
    return command === '' || command.startsWith('start') ? [] : [command];
  });
}

function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replace(/["']/g, ''));
}
