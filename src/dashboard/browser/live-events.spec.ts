import {
  addEvents,
  conversionIdOf,
  eventDetail,
  eventTitle,
  eventTone,
  groupOf,
  type LiveEvent,
} from './live-events.js';

const event = (position: number) => ({ position }) as LiveEvent;

describe('live events', () => {
  it('are shown once, newest first, up to a number', () => {
    const shown = addEvents([event(5), event(3)], [event(5), event(4), event(7)], 3);
    expect(shown.map(({ position }) => position)).toEqual([7, 5, 4]);
    expect(addEvents(shown, [], 3)).toBe(shown);
  });

  it('belong to one group each', () => {
    expect(
      ['conversion.received.v1', 'conversion.delivered.v1', 'site.added.v1', 'outbound.failed.v1', 'new.v1'].map(
        groupOf,
      ),
    ).toEqual(['conversions', 'deliveries', 'changes', 'pushes', 'other']);
  });

  it('are named in words', () => {
    expect(eventTitle('site.platform_parked.v1')).toBe('Site platform parked');
    expect(['conversion.failed.v1', 'conversion.delivered.v1', 'site.added.v1'].map(eventTone)).toEqual([
      'bad',
      'ok',
      'plain',
    ]);
  });

  it('say what they are about, in the order in which it is read', () => {
    const received = { orderId: 'ORD-1', event: 'lead', trial: false, currency: 'EUR', platforms: ['x'] };
    expect(eventDetail({ type: 'conversion.received.v1', data: received })).toBe('ORD-1 · lead');
    const failed = { platform: 'meta', attempt: 2, durationMs: 70, reason: 'invalid pixel', status: 'failed' };
    expect(eventDetail({ type: 'conversion.failed.v1', data: failed })).toBe(
      'Meta · attempt 2 · 70 ms · invalid pixel',
    );
    expect(eventDetail({ type: 'site.key_issued.v1', data: { name: 'Shop' } })).toBe('name: Shop');
  });

  it('lead to their conversion', () => {
    expect(conversionIdOf({ data: { conversionId: '1' } })).toBe('1');
    expect(conversionIdOf({ data: {} })).toBeUndefined();
  });
});
