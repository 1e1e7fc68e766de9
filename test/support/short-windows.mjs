// Loaded into services under test: the same order of deadlines as in production, so that what is owed is found in seconds.
// The platforms of such a test answer at once or never.
import { INTERVALS } from '../../dist/kernel/intervals.js';

Object.assign(INTERVALS.attempts, {
  first: { startWithinMs: 3_000, recordWithinMs: 6_000 },
  owedAfterMs: 7_000,
  lease: { startWithinMs: 3_000, recordWithinMs: 6_000, endsAfterMs: 7_000 },
});
