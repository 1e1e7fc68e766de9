// Meta's dedup window limits every delivery, also those that never reached it.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { mark } from './mark.mjs';

const { meta } = await import(pathToFileURL(join(process.env.DRILL_ROOT, 'dist/platforms/meta/index.js')).href);
const { limits } = meta;
meta.limits = (...args) => {
  mark('dedup-window');
  const { dedupWindowMs } = limits(...args);
  return { dedupWindowMs, ageMaxMs: dedupWindowMs };
};
