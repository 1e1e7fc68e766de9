// npm run docs -- [folder]: builds the documentation site from the Markdown of docs/ into dist/guide, and fails if a link leads nowhere.
import { fileURLToPath } from 'node:url';
import { buildSite } from './site.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const { pages, problems } = buildSite(root, process.argv[2] ?? `${root}dist/guide`);
for (const problem of problems) console.error(`error: ${problem}`);
if (problems.length > 0) process.exitCode = 1;
else console.error(`${pages} pages of documentation.`);
