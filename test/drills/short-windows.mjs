// Loaded into services: the same order of deadlines as in production, but what is owed is found sooner. A request takes at most a
// second in such a drill, and its outcome is recorded in time on a busy machine, too.
import { fromBuild } from './breaks/service.mjs';

const { INTERVALS } = await fromBuild('kernel/intervals.js');
Object.assign(INTERVALS.attempts, {
  first: { startWithinMs: 5_000, recordWithinMs: 20_000 },
  owedAfterMs: 21_000,
  lease: { startWithinMs: 5_000, recordWithinMs: 20_000, endsAfterMs: 21_000 },
});
