import { changedConversion, changedLine, mayMatchAttempt } from './live-rows.js';

const event = (type: string, data: object, position = 10) =>
  ({ type, position, time: '2026-11-19T12:00:00Z', data: { status: type.split('.')[1], ...data } }) as never;
const conversion = (...deliveries: object[]) => ({ conversionId: 'c', deliveries }) as never;

describe('a conversion that is listed', () => {
  it('has the last outcome of each delivery', () => {
    const before = conversion({ platform: 'meta', status: 'queued' }, { platform: 'ga4', status: 'queued' });
    const refused = changedConversion(before, event('conversion.failed.v1', { platform: 'ga4', reason: 'HTTP 400' }));
    expect(refused.deliveries).toEqual([
      { platform: 'meta', status: 'queued' },
      { platform: 'ga4', status: 'failed', reason: 'HTTP 400' },
    ]);
    const delivered = changedConversion(refused, event('conversion.delivered.v1', { platform: 'ga4' }));
    expect(delivered.deliveries[1]).toEqual({ platform: 'ga4', status: 'delivered' });
  });

  it.each(['conversion.send_requested.v1', 'conversion.reopened.v1'])('waits again after %s', (type) => {
    const before = conversion({ platform: 'meta', status: 'failed', reason: 'HTTP 400' });
    expect(changedConversion(before, event(type, { platform: 'meta' })).deliveries).toEqual([
      { platform: 'meta', status: 'queued' },
    ]);
  });

  it('gets a delivery to a platform that was connected later', () => {
    const after = changedConversion(conversion(), event('conversion.delivered.v1', { platform: 'meta' }));
    expect(after.deliveries).toEqual([{ platform: 'meta', status: 'delivered' }]);
  });
});

describe('an attempt that is listed', () => {
  const line = { position: 5, platform: 'meta', status: 'failed' } as never;

  it('is resolved by a later one that was accepted, until one fails after it', () => {
    const resolved = changedLine(line, event('conversion.delivered.v1', { platform: 'meta' }));
    expect(resolved.resolved).toEqual({ time: '2026-11-19T12:00:00Z', status: 'delivered' });
    expect(changedLine(resolved, event('conversion.rejected.v1', { platform: 'meta' })).resolved).toBeUndefined();
  });

  it('is not changed by another platform, an earlier attempt, or if it was accepted itself', () => {
    const delivered = { position: 5, platform: 'meta', status: 'delivered' } as never;
    expect(changedLine(line, event('conversion.delivered.v1', { platform: 'ga4' }))).toBe(line);
    expect(changedLine(line, event('conversion.delivered.v1', { platform: 'meta' }, 5))).toBe(line);
    expect(changedLine(delivered, event('conversion.confirmed.v1', { platform: 'meta' }))).toBe(delivered);
  });
});

describe('an attempt that arrives', () => {
  const failed = event('conversion.failed.v1', { platform: 'meta', conversionId: 'c', reason: 'HTTP 400 Bad' });
  const push = event('outbound.failed.v1', { httpStatus: 503 });

  it.each([
    [{}, true, true],
    [{ connection: 'meta' }, true, false],
    [{ connection: 'meta:second' }, false, false],
    [{ status: 'failed' }, true, true],
    [{ status: 'delivered' }, false, false],
    [{ kind: 'delivery' }, true, false],
    [{ kind: 'push' }, false, true],
    [{ conversion: 'c' }, true, false],
    [{ conversion: 'd' }, false, false],
    [{ reason: 'bad' }, true, false],
    [{ reason: 'http 5' }, false, true],
    [{ order: 'ORD-1' }, true, false],
    [{ event: 'purchase' }, true, false],
    [{ to: '2026-11-19T12:00:00Z' }, false, false],
  ])('is compared with the filters %j', (filters, ofDelivery, ofPush) => {
    const matches = (one: never) => mayMatchAttempt(one, filters as never, (id) => id === 'c');
    expect([matches(failed), matches(push)]).toEqual([ofDelivery, ofPush]);
  });

  it('of a conversion that is not listed does not match an order', () => {
    expect(mayMatchAttempt(failed, { order: 'ORD-1' }, () => false)).toBe(false);
  });
});
