// npm run coverage: runs the unit, integration and e2e tests with coverage and prints lines and branches per folder of src/.
// Further arguments go to jest: `npm run coverage -- --selectProjects unit`.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const directory = join(root, 'coverage');
const temporary = join(directory, 'v8');
const options = process.argv.length > 2 ? process.argv.slice(2) : ['--selectProjects', 'unit', 'integration', 'e2e'];

rmSync(directory, { recursive: true, force: true });
const run = (args, env = process.env) => spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env }).status;
// V8 counts in every Node process that the tests start with this environment.
const env = { ...process.env, NODE_V8_COVERAGE: temporary };
const status = run([join(root, 'node_modules/jest/bin/jest.js'), '-c', 'test/jest.config.mjs', ...options], env);
run([
  ...[join(root, 'node_modules/c8/bin/c8.js'), 'report', '--temp-directory', temporary, '--reports-dir', directory],
  ...['--reporter', 'json', '--all', '--src', 'src', '--include', 'src/**/*.ts', '--exclude', '**/*.spec.ts'],
  ...['--exclude', '**/*.d.ts', '--exclude', '**/browser/**', '--exclude-after-remap'],
]);
print(JSON.parse(readFileSync(join(directory, 'coverage-final.json'), 'utf8')));
process.exit(status ?? 1);
function print(files) {
  const folders = new Map();
  for (const [file, coverage] of Object.entries(files)) {
    for (const name of [folderOf(file), 'total']) {
      const sums = folders.get(name) ?? { lines: [0, 0], branches: [0, 0] };
      folders.set(name, sums);
      add(sums.lines, [...lineCounts(coverage).values()]);
      add(sums.branches, Object.values(coverage.b).flat());
    }
  }
  const total = folders.get('total');
  folders.delete('total');
  const rows = [...[...folders].sort(([one], [other]) => one.localeCompare(other)), ['total', total]];
  const width = Math.max(...rows.map(([name]) => name.length));
  console.log(`\n${'folder'.padEnd(width)}  lines %  branches %`);
  for (const [name, { lines, branches }] of rows) {
    console.log(`${name.padEnd(width)}  ${percent(lines).padStart(7)}  ${percent(branches).padStart(10)}`);
  }
  console.log(
    '\nNot counted: code that runs in the browser, and in processes that tests start without their own environment.',
  );
}

/** The folder below src/; files directly in src/ are listed as src. */
function folderOf(file) {
  const [src, folder, ...rest] = relative(root, file).split(sep);
  return rest.length > 0 ? `${src}/${folder}` : src;
}

/** Executions per line that begins a statement. */
function lineCounts({ statementMap, s }) {
  const counts = new Map();
  for (const [id, { start }] of Object.entries(statementMap)) {
    counts.set(start.line, Math.max(counts.get(start.line) ?? 0, s[id]));
  }
  return counts;
}

function add(sum, counts) {
  sum[0] += counts.filter((executions) => executions > 0).length;
  sum[1] += counts.length;
}

function percent([covered, all]) {
  return all === 0 ? '–' : ((100 * covered) / all).toFixed(1);
}
