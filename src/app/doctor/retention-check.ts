import { formatDuration } from '../../kernel/durations.js';
import { findExpiredPartition, RETAINED_CATEGORIES } from '../../log/retention/retention.js';
import { describeHold, readerHolds, readHolds } from '../../log/retention/retention-holds.js';
import { readOldest, readPositionBefore } from '../../log/stored-time.js';
import { readReached } from '../../postgres/lease.js';
import { KEPT_PERSONAL, PERSONAL_LEASE } from '../../visitors/erasure/expiry.js';
import { allHolds, personalHolds } from '../hold-sources.js';
import { PERSONAL_WAIT_MS } from '../personal-retention.js';
import { type DoctorDependencies, type Finding, judged } from './check.js';

/** A service with many webhooks has as many holds. */
const HOLDS_SHOWN = 20;

/** The oldest of what is kept, and who keeps which events from removal. Fails while that delays a removal. */
export async function retention(dependencies: DoctorDependencies): Promise<Finding> {
  const { postgres, log } = dependencies;
  const head = await log.head();
  const holds = await readHolds([readerHolds(postgres.pool), ...allHolds(dependencies)], head);
  const [events, parts] = [await eventsKept(dependencies), await personalKept(dependencies)];
  const ofParts = parts.overdue > 0 ? await readHolds(personalHolds(dependencies), head) : [];
  const delaying = [
    ...holds.filter(({ position }) => position < events.overdue),
    ...ofParts.filter(({ position }) => position < parts.overdue),
  ];
  const waitsFor = new Set(delaying.map(({ holder, fix }) => `${holder}: ${fix}`));
  const lines = await Promise.all(holds.slice(0, HOLDS_SHOWN).map((hold) => describeHold(postgres.pool, hold)));
  const more = holds.length > HOLDS_SHOWN ? [`${holds.length - HOLDS_SHOWN} more holds`] : [];
  return judged(
    waitsFor.size === 0,
    [events.text, parts.text, ...(lines.length === 0 ? ['no hold'] : lines), ...more].join('; '),
    [...waitsFor].slice(0, HOLDS_SHOWN).join(' '),
  );
}

/** `overdue`: the newest position of a partition that is past its age; 0 if there is none. */
async function eventsKept({ postgres, settings }: DoctorDependencies) {
  const { logRetentionMs: ageMs } = settings;
  const oldest = await readOldest(postgres.pool, 'events', { after: 0, except: RETAINED_CATEGORIES });
  const found = oldest ? `, the oldest is of ${oldest.toISOString()}` : '';
  if (ageMs === undefined) return { text: `LOG_RETENTION is not set: events are kept forever${found}`, overdue: 0 };
  const expired = await findExpiredPartition(postgres.pool, ageMs, postgres.clock.nowMs());
  return {
    text: `events older than ${formatDuration(ageMs)} are removed by the month${found}`,
    overdue: expired?.newest ?? 0,
  };
}

/** `overdue`: the position up to which personal parts should be gone. */
async function personalKept({ postgres, settings }: DoctorDependencies) {
  const { personalRetentionMs: ageMs } = settings;
  const after = await readReached(postgres, PERSONAL_LEASE);
  const oldest = await readOldest(postgres.pool, 'personal parts', { after, except: KEPT_PERSONAL });
  const found = oldest ? `, the oldest is of ${oldest.toISOString()}` : '';
  if (ageMs === undefined)
    return { text: `PERSONAL_RETENTION is not set: personal parts are kept as long${found}`, overdue: 0 };
  const overdue = await readPositionBefore(postgres.pool, new Date(postgres.clock.nowMs() - ageMs - PERSONAL_WAIT_MS));
  return { text: `personal parts older than ${formatDuration(ageMs)} are removed${found}`, overdue };
}
