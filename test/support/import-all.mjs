// node test/support/import-all.mjs <package>: imports all modules of the service but its programs, and prints how many there are.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = join(process.argv[2], 'dist');
const PROGRAM = /(^|\/)(main|admin-main|cli)\.js$/;
/** Run in browsers. */
const SCRIPT = /^(dashboard\/browser|guide\/assets|tag\/tag)/;

const modules = readdirSync(folder, { recursive: true }).filter(
  (file) => file.endsWith('.js') && !PROGRAM.test(file) && !SCRIPT.test(file),
);
for (const file of modules) await import(pathToFileURL(join(folder, file)).href);
console.log(modules.length);
process.exit(0);
