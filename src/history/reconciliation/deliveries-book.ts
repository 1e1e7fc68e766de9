import { isOutcome, outcomeType, resultsOf } from '../../delivery/delivery.js';
import { CONVERSION } from '../../events/conversion.events.js';
import type { StoredEvent } from '../../log/event.js';
import type { StreamBook } from '../verify.js';
import { Wrongs } from './wrongs.js';

/** After these a platform says nothing more, unless an operator asks for it, or a visit was found that was missing. */
const FINAL: readonly string[] = ['delivered', 'confirmed', 'rejected', 'skipped', 'failed', 'validated'];

/**
 * For every conversion that was received and every platform that was connected then there is one status, and no outcome
 * that belongs to neither: per platform, received = delivered + accepted + skipped + queued + failed + validated.
 */
export function deliveriesBook(isShortened: boolean): StreamBook {
  const wrongs = new Wrongs();
  const received = new Map<string, number>();
  const statuses = new Map<string, Map<string, number>>();
  return {
    name: 'deliveries',
    read(stream) {
      const [first] = stream;
      if (!first?.stream.startsWith(`${CONVERSION}-`) || (isShortened && first.version > 1)) return;
      const pinned = first.type === 'conversion.received.v1' ? (first.data.platforms ?? []) : [];
      for (const platform of pinned) received.set(platform, (received.get(platform) ?? 0) + 1);
      for (const [platform, { status }] of Object.entries(resultsOf(stream))) {
        const counts = statuses.get(platform) ?? new Map<string, number>();
        statuses.set(platform, counts.set(status, (counts.get(status) ?? 0) + 1));
      }
      examineOutcomes(stream, wrongs);
    },
    close() {
      const lines: string[] = [];
      for (const platform of new Set([...received.keys(), ...statuses.keys()])) {
        const counts = [...(statuses.get(platform) ?? [])];
        const sum = counts.reduce((total, [, count]) => total + count, 0);
        const expected = received.get(platform) ?? 0;
        const parts = counts.map(([status, count]) => `${status} ${count}`).join(' + ');
        lines.push(`${platform}: received ${expected} = ${parts}`);
        if (sum !== expected) wrongs.add(`${platform} was to get ${expected} and has ${sum} results`);
      }
      return wrongs.finding(lines.join(', ') || 'no platform was connected');
    },
  };
}

function examineOutcomes(stream: readonly StoredEvent[], wrongs: Wrongs): void {
  const last = new Map<string, string>();
  for (const event of stream) {
    if (event.type === 'conversion.send_requested.v1') last.delete(event.data.platform);
    // What a platform took stays closed.
    if (event.type === 'conversion.reopened.v1' && last.get(event.data.platform) === 'skipped')
      last.delete(event.data.platform);
    if (!isOutcome(event)) continue;
    const { platform, status } = event.data;
    const where = `${event.stream} at position ${event.position}`;
    if (event.type !== outcomeType(status)) wrongs.add(`${where} is ${event.type} and says ${status}`);
    const before = last.get(platform);
    if (before !== undefined && FINAL.includes(before)) wrongs.add(`${where}: ${platform} had ${before} already`);
    last.set(platform, status);
  }
}
