import { Writable } from 'node:stream';
import { runCli } from './run-cli.js';

async function errorOf(...argv: string[]): Promise<{ code: number; stderr: string }> {
  let stderr = '';
  const write = new Writable({
    write(chunk, _, done) {
      stderr += chunk;
      done();
    },
  });
  const code = await runCli(argv, { env: {}, stdout: write, stderr: write });
  return { code, stderr };
}

describe('a misspelt option', () => {
  it.each([
    [['keys', 'list', '--sight', 'shop.example'], "Unknown option '--sight'. Did you mean --site?"],
    [['keys', 'list', '--site', 'shop.example', '--jsn'], "Unknown option '--jsn'. Did you mean --json?"],
    [['keys', 'create', '--site=shop.example', '--nam=Shop'], "Unknown option '--nam'. Did you mean --name?"],
    [['keys', 'list', '--colour', '--site', 'shop.example'], "Unknown option '--colour'. "],
    [['keys', 'list'], "Required option '--site <host>' not specified."],
  ])('is named with the one that was meant: %j', async (argv, message) => {
    const { code, stderr } = await errorOf(...argv);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain('--help" shows the usage.');
  });
});
