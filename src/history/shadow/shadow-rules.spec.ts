import type { StoredOpening } from '../../conversions/conversion.js';
import type { StoredEvent } from '../../log/event.js';
import { ShadowRulesEngine, SiteTimeline } from './shadow-rules.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const REGISTERED = {
  ...{ type: 'site.registered.v1', stream: 'site-1', position: 1, time: '2026-01-01T00:00:00Z', site: 'shop.example' },
  data: { host: 'shop.example', aliases: [] },
} as unknown as StoredEvent;

const received = (orderId: string, position: number, day = 1) =>
  ({
    ...{ type: 'conversion.received.v1', position, time: `2026-03-0${day}T00:00:00Z` },
    data: { orderId, event: 'purchase', trial: false, currency: 'EUR' },
    personal: { subject: 'aa'.repeat(32) },
  }) as unknown as StoredOpening;

describe('the dedup claims of a shadow replay', () => {
  it('are those that the range repeats, however many conversions precede it', () => {
    const engine = new ShadowRulesEngine({ settings: {} }, new SiteTimeline([REGISTERED]), 'secret', 7 * DAY_MS);
    for (const [index, orderId] of ['A', 'B'].entries()) engine.expect(received(orderId, 2_000 + index));
    for (let order = 0; order < 1_000; order += 1) engine.addEarlierClaim(received(`other-${order}`, 2 + order));
    engine.addEarlierClaim(received('A', 1_500));
    expect(engine.size).toBe(2);
    expect(engine.decide(received('A', 2_000, 2), false)).toBe('deduplicated');
    expect(engine.decide(received('B', 2_001, 2), false)).toBe('received');
    expect(engine.decide(received('B', 2_002, 2), false)).toBe('deduplicated');
  });
});
