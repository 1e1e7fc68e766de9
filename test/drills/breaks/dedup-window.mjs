// Meta's dedup window limits every delivery, also those that never reached it.
import { fromBuild, mark, replace } from './service.mjs';

const { platform: meta } = await fromBuild('platforms/meta/index.js');
replace(meta, 'limits', (limits) => (...args) => {
  mark('dedup-window');
  const { dedupWindowMs } = limits(...args);
  return { dedupWindowMs, ageMaxMs: dedupWindowMs };
});
