import type { Lease, LeaseDatabase } from '../postgres/lease.js';
import { acquirePushLeases, maySend, mayStart } from './push-lease.js';

const TIMEOUT_MS = 10_000;

it('a push lease lets nothing start or be sent so late that its outcome is recorded after the lease', async () => {
  const now = jest.spyOn(performance, 'now').mockReturnValue(1_000);
  let seconds = 0;
  const query = async (_text: string, values: unknown[]) => {
    seconds = values[2] as number;
    return { rows: [{ name: 'outbound:shop.example', reached: '0', lineage: '' }] };
  };
  const database = { pool: { query }, clock: { at: (ms: number) => ms } } as unknown as LeaseDatabase;
  const lease = (await acquirePushLeases(database, ['shop.example'], TIMEOUT_MS)).get('shop.example') as Lease;
  const at = (ms: number) => {
    now.mockReturnValue(1_000 + ms);
    return [mayStart(lease), maySend(lease)];
  };
  expect([at(4_999), at(5_000), at(14_999), at(15_000)]).toEqual([
    [true, true],
    [false, true],
    [false, true],
    [false, false],
  ]);
  expect(seconds).toBe(22);
});
