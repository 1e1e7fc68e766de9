import { Orders } from '../../../test/support/orders.js';
import { correctedOrder, orderState } from './order.js';

describe('the order of a correction', () => {
  let orders: Orders;
  beforeEach(() => {
    orders = new Orders();
  });

  const order = async (id: string) => correctedOrder(await orders.read(id), 'google_ads');
  const state = async (id: string) => orderState(await orders.read(id), 'google_ads');
  const delivered = async (data: object = {}) => {
    const id = await orders.receive(data);
    await orders.record(id, 'delivered');
    return id;
  };

  it('has nothing left after a refund without an amount, of the whole amount, or of more', async () => {
    await delivered();
    const full = await orders.refund();
    expect(await order(full)).toEqual({
      ...{ eventId: 'A', event: 'purchase', currency: 'EUR', refunded: 100, remaining: 0 },
      timeMs: Date.parse('2026-03-01T10:00:00.500Z'),
      settledMs: Date.parse('2026-03-01T10:00:00.500Z'),
      correctedMs: Date.parse('2026-03-01T10:01:00Z'),
    });
    for (const amount of [100, 250]) {
      orders = new Orders();
      await delivered();
      expect(await order(await orders.refund(amount))).toMatchObject({ refunded: 100, remaining: 0 });
    }
  });

  it('has the original value without all refunds up to this one, in every attempt', async () => {
    await delivered({ value: 129.9 });
    const [first, second] = [await orders.refund(30), await orders.refund(0.1)];
    const third = await orders.refund();
    const expected = [
      { refunded: 30, remaining: 99.9 },
      { refunded: 0.1, remaining: 99.8 },
      { refunded: 99.8, remaining: 0 },
    ];
    // A later refund does not change the payload of an earlier one.
    for (const [index, id] of [first, second, third].entries())
      expect(await order(id)).toMatchObject(expected[index] ?? {});
    for (const id of [first, second, third]) await orders.record(id, 'delivered');
    for (const [index, id] of [first, second, third].entries())
      expect(await order(id)).toMatchObject(expected[index] ?? {});
  });

  it('is corrected at a later second each time, and after the conversion', async () => {
    await delivered({ occurredAt: '2026-03-01T10:00:00.900Z' });
    const ids = [];
    for (let number = 0; number < 3; number += 1)
      ids.push(await orders.receive({ event: 'refund', value: 1, correction: true }));
    const times = await Promise.all(ids.map(async (id) => ((await order(id)) as { correctedMs: number }).correctedMs));
    expect(times.map((ms) => new Date(ms).toISOString())).toEqual([
      '2026-03-01T10:00:01.000Z',
      '2026-03-01T10:00:02.000Z',
      '2026-03-01T10:00:03.000Z',
    ]);
  });

  it('is not sent again once it is refunded completely', async () => {
    await delivered();
    await orders.refund(60);
    await orders.refund(50);
    expect(await order(await orders.refund(10))).toEqual({ skip: 'already_refunded' });
    orders = new Orders();
    await delivered({ value: 0 });
    expect(await order(await orders.refund())).toMatchObject({ remaining: 0 });
  });

  it('ignores a refund in another currency', async () => {
    await delivered();
    const dollars = await orders.refund(10, { currency: 'USD' });
    const euros = await orders.refund(10);
    expect(await order(dollars)).toEqual({ skip: 'currency_differs' });
    expect(await order(euros)).toMatchObject({ refunded: 10, remaining: 90 });
    // Without an amount there is nothing to compare.
    expect(await order(await orders.refund(undefined, { currency: 'USD' }))).toMatchObject({ remaining: 0 });
  });

  it('needs a value for a partial refund only', async () => {
    await delivered({ value: undefined });
    expect(await order(await orders.refund(10))).toEqual({ skip: 'value_required' });
    expect(await order(await orders.refund())).toMatchObject({ refunded: undefined, remaining: 0 });
  });

  it('is unknown if no conversion of this site was received before the correction', async () => {
    await orders.receive({}, 'conversion.received.v1', 'other.example');
    await orders.receive({ trial: true });
    const early = await orders.refund();
    expect(await order(early)).toEqual({ skip: 'order_unknown' });
    await delivered();
    expect(await order(early)).toEqual({ skip: 'order_unknown' });
  });

  it('is the purchase if the order has other conversions', async () => {
    await delivered({ event: 'lead', value: 1 });
    await delivered();
    await delivered({ value: 7 });
    expect(await order(await orders.refund(10))).toMatchObject({ event: 'purchase', remaining: 90 });
  });

  it('is not the duplicate of a conversion', async () => {
    await delivered();
    await orders.receive({ value: 5 }, 'conversion.deduplicated.v1');
    await orders.receive({ event: 'refund', value: 10, correction: true }, 'conversion.deduplicated.v1');
    expect(await order(await orders.refund(10))).toMatchObject({ remaining: 90 });
  });

  it.each(['skipped', 'failed', 'rejected'] as const)('is not corrected if its conversion was %s', async (status) => {
    await orders.record(await orders.receive(), status);
    expect(await order(await orders.refund())).toEqual({ skip: 'order_not_sent' });
  });

  it('is not corrected if its conversion was filtered, or the platform connected later', async () => {
    await orders.receive({}, 'conversion.filtered.v1');
    expect(await order(await orders.refund())).toEqual({ skip: 'order_not_sent' });
    orders = new Orders();
    await orders.record(await orders.receive({ platforms: ['meta'] }), 'delivered', { platform: 'meta' });
    expect(await order(await orders.refund())).toEqual({ skip: 'order_not_sent' });
  });

  it('of a trial is the trial conversion, which was only validated', async () => {
    await delivered();
    await orders.record(await orders.receive({ trial: true, value: 40 }), 'validated');
    expect(await order(await orders.refund(10, { trial: true }))).toMatchObject({ remaining: 30 });
  });

  it('has the event id of a delivery that an operator forced', async () => {
    const id = await delivered();
    await orders.append(id, 'conversion.send_requested.v1', { attempt: 1, settings: 1, eventId: 'A-r2' });
    await orders.record(id, 'delivered', { attempt: 2, eventId: 'A-r2' });
    expect(await order(await orders.refund())).toMatchObject({ eventId: 'A-r2' });
  });

  it('is pending until the conversion is accepted for good', async () => {
    const id = await orders.receive();
    const correction = await orders.refund();
    expect(await state(correction)).toBe('pending');
    await orders.record(id, 'deferred', { reason: 'timeout', nextTry: '2026-03-01T11:00:00.000Z' });
    expect(await state(correction)).toBe('pending');
    await orders.record(id, 'accepted', { attempt: 2, nextTry: '2026-03-01T11:00:00.000Z' });
    expect(await state(correction)).toBe('pending');
    await orders.record(id, 'confirmed', { attempt: 3 });
    expect(await state(correction)).toBe('ready');
  });

  it.each(['failed', 'accepted'] as const)('is ready when nothing follows the outcome %s', async (status) => {
    await orders.record(await orders.receive(), status);
    expect(await state(await orders.refund())).toBe('ready');
  });

  it('is pending until earlier corrections are settled, and superseded by later ones', async () => {
    await delivered();
    const [first, second] = [await orders.refund(10), await orders.refund(20)];
    expect([await state(first), await state(second)]).toEqual(['ready', 'pending']);
    await orders.record(first, 'failed', { reason: 'gave_up' });
    expect(await state(second)).toBe('ready');
    await orders.record(second, 'delivered');
    expect(await state(first)).toEqual({ skip: 'superseded' });
  });

  it('has at most 100 corrections', async () => {
    await delivered();
    const ids = [];
    for (let number = 0; number < 101; number += 1) ids.push(await orders.refund(0.5));
    expect(await order(ids[99] as string)).toMatchObject({ remaining: 50 });
    expect(await order(ids[100] as string)).toEqual({ skip: 'too_many_corrections' });
    expect(await state(ids[100] as string)).toBe('ready');
  });
});
