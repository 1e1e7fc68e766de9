// Loaded into services: the same order of deadlines as in production, so that what is owed is found in seconds.
import { fromBuild } from './breaks/service.mjs';

const { ATTEMPT_WINDOW } = await fromBuild('delivery/attempt-window.js');
Object.assign(ATTEMPT_WINDOW, {
  first: { startWithinMs: 3_000, recordWithinMs: 6_000 },
  owedAfterMs: 7_000,
  lease: { startWithinMs: 3_000, recordWithinMs: 6_000, endsAfterMs: 7_000 },
});
