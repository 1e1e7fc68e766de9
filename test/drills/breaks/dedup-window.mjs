// Meta's dedup window limits every delivery, also those that never reached it.
import { fromBuild, mark } from './service.mjs';

const { meta } = await fromBuild('platforms/meta/index.js');
const { limits } = meta;
meta.limits = (...args) => {
  mark('dedup-window');
  const { dedupWindowMs } = limits(...args);
  return { dedupWindowMs, ageMaxMs: dedupWindowMs };
};
