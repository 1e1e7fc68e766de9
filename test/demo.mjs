// Records the demo of the README: `npm run demo -- demo.cast` starts the service in an empty folder, runs commands in a
// pseudo-terminal, and writes what they print as an asciinema recording (asciicast v2). Typing is added, pauses and the API key are shortened.
// `npx svg-term-cli@2.1.1 --in demo.cast --out docs/images/demo.svg --window --no-cursor` renders it. Ports 8080 and 8081 must be free.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COLUMNS = 132;
const ROWS = 34;
const TYPING_S = 0.035;
/** Longest pause between two outputs of a command. */
const PAUSE_MAX_S = 0.6;
const READING_S = 3;
const CLI = join(import.meta.dirname, '../dist/cli.js');
const KEY = /cc_\w{49}/g;
const SEND = 'conversions send --event purchase --value 129.90 --currency EUR --order ORD-1001';

const [out = 'demo.cast'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'cc-demo-'));
// Started by root, PostgreSQL runs as another user, who has to enter the folder.
chmodSync(folder, 0o755);
const env = { ...process.env, DATA_DIR: join(folder, 'data'), TERM: 'xterm-256color' };
delete env.NO_COLOR;
const frames = [];
let clock = 0;

const service = run('start', /Stop: Ctrl-C/);
try {
  await service.done;
  for (const command of [SEND, SEND, 'sync log --site localhost --last 12', 'history verify']) await run(command).done;
} finally {
  service.child.kill('SIGTERM');
  await service.exited;
  rmSync(folder, { recursive: true, force: true });
}
const header = { version: 2, width: COLUMNS, height: ROWS, title: 'Clean Conversions' };
writeFileSync(out, [header, ...frames].map((line) => `${JSON.stringify(line)}\n`).join(''));
console.error(`${out}: ${frames.length} frames, ${Math.round(clock)} s`);

/** Types a command and records what it prints, until it ends or has printed `until`. */
function run(command, until) {
  show('\u001b[2J\u001b[H\u001b[32m$\u001b[0m ', 0.2);
  for (const character of `npx clean-conversions ${command}`) show(character, TYPING_S);
  show('\r\n', 0.4);
  const line = `stty cols ${COLUMNS} rows ${ROWS} && exec ${process.execPath} ${CLI} ${command}`;
  const child = spawn('script', ['-qefc', line, '/dev/null'], { env, cwd: folder });
  child.stdin.end();
  const exited = new Promise((resolve) => child.once('close', resolve));
  let printed = '';
  let lastMs = performance.now();
  const done = new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      if (until?.test(printed)) return;
      printed += chunk;
      show(chunk.toString().replace(KEY, 'cc_…'), Math.min(PAUSE_MAX_S, (performance.now() - lastMs) / 1_000));
      lastMs = performance.now();
      if (until?.test(printed)) resolve();
    });
    child.once('close', (code) => {
      if (code === 0 && !until) resolve();
      else reject(new Error(`${command}: exit code ${code}\n${printed}`));
    });
  }).then(() => show('', READING_S));
  return { child, done, exited };
}

function show(text, delayS) {
  clock += delayS;
  frames.push([Number(clock.toFixed(3)), 'o', text]);
}
