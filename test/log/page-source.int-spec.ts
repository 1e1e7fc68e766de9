import fc from 'fast-check';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { readPublicEvents } from '../../src/log/event-reader.js';
import { LogPageSource, type PageSource, SharedPageSource } from '../../src/log/page-source.js';
import { CountReducer, NewestByActor, type PageFilter, type PageRow } from '../../src/log/projections/reducer.js';
import { RecentEvents, type RecentRow } from '../../src/log/recent-events.js';
import { useLog } from '../support/databases.js';

const TYPES = ['thing.happened.v1', 'thing.ended.v1', 'other.happened.v1'];

const recent = new RecentEvents();
const { postgres, log } = await useLog(recent);

describe('the events of a page', () => {
  const field = fc.oneof(
    fc.constantFrom(null, true, false, 'EUR', '', 'a\tb\\n"', '1', [], ['value'], { nested: [1, 'é'] }),
    fc.integer({ min: -5, max: 5 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const event = fc.record({
    type: fc.constantFrom(...TYPES),
    site: fc.constantFrom('shop.example', 'other.example'),
    actor: fc.constantFrom('system', 'key:1', 'key:2'),
    data: fc.record({ one: field, other: field }, { requiredKeys: [] }),
    personal: fc.option(fc.constant({ subject: 'ab'.repeat(32), name: 'Jane' }), { nil: undefined }),
  });
  type Sample = typeof event extends fc.Arbitrary<infer Value> ? Value : never;

  const append = async ({ type, site, actor, data, personal }: Sample) => {
    const request = { category: type.split('.')[0] as string, stream: uuidv7(), site, actor };
    const events = [
      { type, data, ...(personal && { personal }) },
      { type, data },
    ];
    await log.append({ ...request, expected: 'new', events } as never);
    await log.append({ ...request, expected: 2, events } as never);
  };

  const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort();

  const eventsOf = async (source: PageSource, filter: PageFilter) => {
    const read: object[] = [];
    await source.each(filter, (row: PageRow) => read.push({ ...row.event(), of: [row.data(), row.subject] }));
    return read;
  };

  async function expectEqual(shared: PageSource, asked: PageSource): Promise<void> {
    for (const filter of [
      {},
      { types: [TYPES[1] as string] },
      { categories: ['thing'] },
      { types: TYPES, unless: { field: 'one', is: '1' } },
      { unless: { field: 'other', is: 'true' } },
    ])
      expect(await eventsOf(shared, filter)).toEqual(await eventsOf(asked, filter));
    const by = ['one', 'other'];
    const countsOf = async (source: PageSource) =>
      (await source.reduce(new CountReducer(TYPES, by))).counts().map(({ site, type, minute, values, count }) => ({
        site,
        type,
        minute,
        values,
        count,
      }));
    expect(sorted(await countsOf(shared))).toEqual(sorted(await countsOf(asked)));
    const newest = new NewestByActor('key:');
    expect([...(await shared.reduce(newest))].sort()).toEqual([...(await asked.reduce(newest))].sort());
  }

  it('are the same from memory, read once for all, and if each projection asks the database', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 30 }), async (events) => {
        const after = await log.head();
        await Promise.all(events.map(append));
        const until = await log.head();
        const client = await postgres.pool.connect();
        try {
          const asked = new LogPageSource(client, after, until);
          const rows = (await recent.read(after, until)) as RecentRow[];
          await expectEqual(await SharedPageSource.read(client, after, until), asked);
          await expectEqual(new SharedPageSource(client, rows), asked);
          expect(rows.map((row) => row.publicEvent())).toEqual(await readPublicEvents(client, after, 1_000));
        } finally {
          client.release();
        }
      }),
      { numRuns: 60, seed: 1 },
    );
  });
});
