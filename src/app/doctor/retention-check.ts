import { formatDuration } from '../../kernel/durations.js';
import { findExpiredPartition } from '../../log/retention/retention.js';
import { describeHold, readerHolds, readHolds } from '../../log/retention/retention-holds.js';
import { allHolds } from '../hold-sources.js';
import { type DoctorDependencies, type Finding, judged } from './check.js';

/** A service with many webhooks has as many holds. */
const HOLDS_SHOWN = 20;

/** Who keeps which events from removal. Fails while that delays the removal of a partition that is past LOG_RETENTION. */
export async function retention(dependencies: DoctorDependencies): Promise<Finding> {
  const { postgres, log, settings } = dependencies;
  const holds = await readHolds([readerHolds(postgres.pool), ...allHolds(dependencies)], await log.head());
  const expired =
    settings.logRetentionMs === undefined
      ? undefined
      : await findExpiredPartition(postgres.pool, settings.logRetentionMs, postgres.clock.nowMs());
  const waitsFor = holds.filter(({ position }) => expired?.newest !== undefined && position < expired.newest);
  const kept =
    settings.logRetentionMs === undefined
      ? 'LOG_RETENTION is not set: events are kept forever'
      : `events older than ${formatDuration(settings.logRetentionMs)} are removed`;
  const lines = await Promise.all(holds.slice(0, HOLDS_SHOWN).map((hold) => describeHold(postgres.pool, hold)));
  const more = holds.length > HOLDS_SHOWN ? [`${holds.length - HOLDS_SHOWN} more holds`] : [];
  const fixes = waitsFor.slice(0, HOLDS_SHOWN).map(({ holder, fix }) => `${holder}: ${fix}`);
  return judged(
    waitsFor.length === 0,
    [kept, ...(lines.length === 0 ? ['no hold'] : lines), ...more].join('; '),
    fixes.join(' '),
  );
}
