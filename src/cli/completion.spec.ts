import { execFileSync } from 'node:child_process';
import { Writable } from 'node:stream';
import { runCli } from './run-cli.js';

async function scriptOf(shell: string): Promise<string> {
  let text = '';
  const stdout = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  expect(await runCli(['completion', shell], { env: {}, stdout, stderr: stdout })).toBe(0);
  return text;
}

/** What bash offers for the last word. */
async function offered(...words: string[]): Promise<string[]> {
  const line = words.map((word) => `'${word}'`).join(' ');
  const script = `${await scriptOf('bash')}
COMP_WORDS=(clean-conversions ${line}); COMP_CWORD=${words.length}; _clean_conversions; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean);
}

describe('shell completion', () => {
  it('offers commands, their subcommands and options in bash', async () => {
    expect(await offered('ke')).toEqual(['keys']);
    expect(await offered('keys', '')).toEqual(expect.arrayContaining(['create', 'list', 'revoke', 'rotate']));
    expect(await offered('keys', 'create', '--')).toEqual(['--json', '--site', '--name', '--trial', '--help']);
    expect(await offered('keys', 'create', '--site', 'shop.example', '--tr')).toEqual(['--trial']);
  });

  it('tells a subcommand from the command of the same name', async () => {
    expect(await offered('replay', 'events', '--to-')).toEqual(['--to-topic']);
    expect(await offered('events', 'ex')).toEqual(['export']);
  });

  it('offers the values of an option that has a list of them', async () => {
    expect(await offered('events', 'export', '--format', '')).toEqual(['ndjson', 'csv', 'parquet']);
    expect(await offered('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  });

  it('has every subcommand for zsh and fish', async () => {
    expect(await scriptOf('zsh')).toMatch(/^#compdef clean-conversions\n[\s\S]*'keys create'[\s\S]*compadd -- /);
    expect(await scriptOf('fish')).toContain(
      `complete -c clean-conversions -n '_clean_conversions_at "keys create"' -l trial -d `,
    );
  });

  it('refuses another shell', async () => {
    const stdout = new Writable({ write: (_, __, done) => done() });
    expect(await runCli(['completion', 'tcsh'], { env: {}, stdout, stderr: stdout })).toBe(2);
  });
});
