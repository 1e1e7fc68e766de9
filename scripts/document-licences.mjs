// Runs as `npm run docs:licences`: writes docs/licences.md from the lock file.
import { readFileSync, writeFileSync } from 'node:fs';
import { licencesDocument } from './licences-document.mjs';

const file = (path) => new URL(`../${path}`, import.meta.url);
writeFileSync(file('docs/licences.md'), licencesDocument(JSON.parse(readFileSync(file('package-lock.json'), 'utf8'))));
