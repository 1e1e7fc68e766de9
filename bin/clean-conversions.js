#!/usr/bin/env node
// The command of the package. A build writes new files that are not executable, so this one is not built. In a checkout it builds
// first what is out of date, as `npm start` does; the package has no sources.
import { existsSync } from 'node:fs';

const prepare = new URL('../scripts/prepare.mjs', import.meta.url);
if (existsSync(prepare)) await import(prepare.href);
await import('../dist/cli.js');
