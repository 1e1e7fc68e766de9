import {
  addToFeed,
  conversionIdOf,
  EMPTY_FEED,
  EVENT_GROUPS,
  type EventGroup,
  eventDetail,
  eventTitle,
  eventTone,
  filterFeed,
  kindOf,
  type LiveEvent,
  moveOn,
  typesOf,
} from './live-events.js';

const event = (position: number, orderId = `ORD-${position}`) =>
  ({ position, type: 'conversion.received.v1', data: { orderId } }) as unknown as LiveEvent;
const positionsOf = (events: readonly LiveEvent[]) => events.map(({ position }) => position);
const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => event(from + index));

describe('live events', () => {
  it('are shown once, newest first', () => {
    const feed = addToFeed(addToFeed(EMPTY_FEED, [event(5), event(3)]), [event(5), event(4), event(7)]);
    expect(positionsOf(feed.shown)).toEqual([7, 5, 4, 3]);
  });

  it('are kept up to a number, and shown up to a smaller one', () => {
    const feed = addToFeed(addToFeed(EMPTY_FEED, range(1, 5_000)), range(5_001, 5_000));
    expect(feed.kept).toHaveLength(1_000);
    expect(feed.shown).toHaveLength(200);
    expect(feed.shown[0]?.position).toBe(10_000);
  });

  it('move a few at a time when many arrive, the newest first, and those left out are counted', () => {
    const first = addToFeed(EMPTY_FEED, range(1, 60));
    expect([positionsOf(first.moving)[0], first.moving.length, first.passed]).toEqual([60, 50, 0]);
    const second = addToFeed(first, range(61, 100));
    expect(positionsOf(second.moving.slice(0, 14))).toEqual([
      ...[160, 159, 158, 157, 156, 155, 154, 153, 152, 151, 150, 149],
      ...[60, 59],
    ]);
    expect([second.moving.length, second.passed]).toEqual([50, 88]);
    const third = addToFeed(second, [event(161), event(160)]);
    expect([positionsOf(third.moving.slice(0, 2)), third.passed]).toEqual([[161, 160], 88]);
    const again = moveOn(third);
    expect([positionsOf(again.moving), again.passed]).toEqual([positionsOf(third.shown.slice(0, 50)), 0]);
  });

  it('are filtered by a text before they are cut', () => {
    const rare = filterFeed(addToFeed(EMPTY_FEED, [event(1, 'Rare-7')]), 'rare received');
    expect(positionsOf(addToFeed(rare, [event(2, 'RARE-8'), ...range(3, 20_000)]).shown)).toEqual([2, 1]);
    expect(positionsOf(filterFeed(rare, 'other').shown)).toEqual([]);
    expect(positionsOf(filterFeed(filterFeed(rare, 'other'), ' ').shown)).toEqual([1]);
    const pushedOut = addToFeed(rare, range(2, 20_000));
    expect(positionsOf(moveOn(pushedOut).moving)).toEqual([1]);
  });

  it('are requested by the types of the chosen group', () => {
    expect(kindOf('visits')).toBe('visits');
    expect([undefined, '', 'constructor', 'none'].map(kindOf)).toEqual([undefined, undefined, undefined, undefined]);
    expect(kindOf('conversion.failed.v1')).toBe('conversion.failed.v1');
    // Not an event of a site.
    expect(kindOf('user.added.v1')).toBeUndefined();
    expect(typesOf('conversion.failed.v1')).toEqual(['conversion.failed.v1']);
    expect(typesOf(undefined)).toBeUndefined();
    expect(typesOf('refused')).toEqual([
      ...['auth.failed.v1', 'auth.throttled.v1', 'inbound.rejected.v1'],
      ...['inbound.deliveries_refused.v1', 'inbound.delivery_ignored.v1'],
    ]);
    // The service accepts 50 types in a request.
    for (const group of Object.keys(EVENT_GROUPS) as EventGroup[]) expect(typesOf(group)?.length).toBeLessThan(50);
  });

  it('are named in words', () => {
    expect(eventTitle('site.platform_parked.v1')).toBe('Platform needs attention');
    expect(eventTitle('site.of_next_year.v2')).toBe('site of next year');
    expect(['conversion.failed.v1', 'conversion.delivered.v1', 'constructor'].map(eventTone)).toEqual([
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
