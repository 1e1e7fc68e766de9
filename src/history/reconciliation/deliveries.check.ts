import { isOpening } from '../../conversions/conversion.js';
import { isOutcome, outcomeType, resultsOf } from '../../delivery/delivery.js';
import { CONVERSION } from '../../events/conversion.events.js';
import { counted } from '../../kernel/counted.js';
import type { StoredEvent } from '../../log/event.js';
import type { IsPartial, StreamCheck } from '../verify.js';
import { Violations } from './violations.js';

/** No outcome follows these, unless an operator requests another delivery or a visit is matched later. */
const FINAL: readonly string[] = ['delivered', 'confirmed', 'rejected', 'skipped', 'failed', 'validated'];

/**
 * Every received conversion has exactly one status for each platform that was connected at that time, or that an operator
 * requested a delivery to, and no outcome for any other: per platform, received = delivered + accepted + skipped + queued + failed + validated.
 */
export function deliveriesCheck(isPartial: IsPartial): StreamCheck {
  const violations = new Violations();
  const received = new Map<string, number>();
  const statuses = new Map<string, Map<string, number>>();
  return {
    name: 'deliveries',
    read(stream) {
      const [first] = stream;
      if (!first?.stream.startsWith(`${CONVERSION}-`) || (isPartial(first.site) && !isOpening(first))) return;
      const pinned = first.type === 'conversion.received.v1' ? (first.data.platforms ?? []) : [];
      const requested = stream.flatMap(({ type, data }) =>
        type === 'conversion.send_requested.v1' ? data.platform : [],
      );
      for (const platform of new Set([...pinned, ...requested]))
        received.set(platform, (received.get(platform) ?? 0) + 1);
      for (const [platform, { status }] of Object.entries(resultsOf(stream))) {
        const counts = statuses.get(platform) ?? new Map<string, number>();
        statuses.set(platform, counts.set(status, (counts.get(status) ?? 0) + 1));
      }
      checkOutcomes(stream, violations);
    },
    finish() {
      const lines: string[] = [];
      for (const platform of new Set([...received.keys(), ...statuses.keys()])) {
        const counts = [...(statuses.get(platform) ?? [])];
        const sum = counts.reduce((total, [, count]) => total + count, 0);
        const expected = received.get(platform) ?? 0;
        const parts = counts.map(([status, count]) => `${status} ${count}`).join(' + ');
        lines.push(`${platform}: received ${expected} = ${parts}`);
        if (sum !== expected)
          violations.add(
            `${platform} has ${counted(sum, 'result')} for ${counted(expected, 'delivery', 'deliveries')}`,
          );
      }
      return violations.finding(lines.join(', ') || 'no platform was connected');
    },
  };
}

function checkOutcomes(stream: readonly StoredEvent[], violations: Violations): void {
  const last = new Map<string, string>();
  for (const event of stream) {
    if (event.type === 'conversion.send_requested.v1') last.delete(event.data.platform);
    // Only a skipped delivery is reopened; one that the platform accepted stays final.
    if (event.type === 'conversion.reopened.v1' && last.get(event.data.platform) === 'skipped')
      last.delete(event.data.platform);
    if (!isOutcome(event)) continue;
    const { platform, status } = event.data;
    const where = `${event.stream} at position ${event.position}`;
    if (event.type !== outcomeType(status))
      violations.add(`${where} has the type ${event.type} but the status ${status}`);
    const before = last.get(platform);
    if (before !== undefined && FINAL.includes(before))
      violations.add(`${where}: ${platform} already had the final outcome ${before}`);
    last.set(platform, status);
  }
}
