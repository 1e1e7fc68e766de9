import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Totals } from '../../src/events/outbound.events.js';
import { temporaryFolder } from './folders.js';

const PROGRAMS = { js: [process.execPath, 'mjs'], python: ['python3', 'py'] } as const;

export type ReceiverLanguage = keyof typeof PROGRAMS;

/** The languages of the receivers in docs/integrate/webhook.md that this machine can run. */
export const RECEIVER_LANGUAGES = (['js', 'python'] as const).filter(
  (language) => spawnSync(PROGRAMS[language][0], ['--version']).status === 0,
);

/** Runs the receiver of docs/integrate/webhook.md. */
export async function startGuideReceiver(language: ReceiverLanguage, secret: string) {
  const [program, extension] = PROGRAMS[language];
  const guide = readFileSync('docs/integrate/webhook.md', 'utf8');
  const code = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)?.[1] as string;
  const file = join(temporaryFolder('cc-receiver-'), `receiver.${extension}`);
  writeFileSync(file, code);
  const env = { PATH: process.env['PATH'] ?? '', WEBHOOK_SECRET: secret, PORT: '0' };
  const child = spawn(program, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  const url = await new Promise<string>((listening, failed) => {
    child.stdout.on('data', (chunk) => {
      printed += chunk;
      const found = /^Listens on (\S+)\n/.exec(printed)?.[1];
      if (found) listening(found);
    });
    child.once('exit', (code) => failed(new Error(`The receiver exited with ${code}`)));
  });
  /** What it has printed after each push. */
  const totals = () =>
    printed
      .split('\n')
      .slice(1, -1)
      .map((line) => JSON.parse(line) as Totals);
  return { url, totals, stop: () => child.kill('SIGKILL') };
}
