import { Orders } from '../../../test/support/orders.js';
import type { SomeOptions } from '../../log/event-reader.js';

describe('the order of a correction', () => {
  it('is read with bounded work, however often the order was sent', async () => {
    const orders = new Orders();
    const { log } = orders;
    const read: number[] = [];
    const find = log.find.bind(log);
    log.find = async (site: string, reference: string, some?: SomeOptions) => {
      const found = await find(site, reference, some);
      read.push(found.length);
      return found;
    };
    await orders.receive();
    for (let count = 0; count < 300; count += 1) await orders.receive({}, 'conversion.deduplicated.v1');
    const first = await orders.refund(1);
    for (let count = 0; count < 300; count += 1) await orders.refund(1);
    const last = await orders.refund(1);
    expect((await orders.read(first)).order).toMatchObject({ conversion: { opening: { data: { value: 100 } } } });
    expect((await orders.read(last)).order).toMatchObject({ isTooLarge: true });
    expect(read).toEqual([200, 200]);
  });
});
