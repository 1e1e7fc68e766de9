import { LOG, type LogEvent, NO_SITE, VERSION_STREAM } from '../events/log.events.js';
import type { EventLog } from '../log/event-log.js';

/**
 * Records that this version started, unless it is the one recorded last. Of instances that start together, one records it. A
 * start that could not record it leaves that to the next one.
 */
export async function recordVersion(log: EventLog, version: string): Promise<void> {
  const event = { type: 'log.version_started.v1', data: { version } } satisfies LogEvent;
  for (;;) {
    const [last] = await log.readEnds(LOG, [VERSION_STREAM]);
    if (last?.type === event.type && last.data.version === version) return;
    const { status } = await log.append({
      ...{ category: LOG, stream: VERSION_STREAM, site: NO_SITE, actor: 'system' },
      expected: last?.version ?? 0,
      events: [event],
    });
    // Otherwise another instance recorded its version at the same moment, which may be this one.
    if (status === 'appended') return;
  }
}
