import { countSiteEvents } from '../../src/log/site-copy/site-events.js';
import { countSite } from '../../src/log/site-copy/site-pages.js';
import { useLog } from '../support/databases.js';

/** More than two queries look at. */
const EVENTS = 250_000;

const { postgres } = await useLog();

beforeAll(async () => {
  // Every third event is of the site, and every eleventh position is missing.
  await postgres.pool.query(
    `INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, data)
     SELECT p, gen_random_uuid(), 'visitor', gen_random_uuid(), 1, 'visitor.erased.v1',
            CASE WHEN p % 3 = 0 THEN 'shop.example' ELSE 'other.example' END, now(), 'cli', '{}'
       FROM generate_series(1, $1::bigint) AS p WHERE p % 11 <> 0`,
    [EVENTS],
  );
});

/** Positions of the site after one and up to another. */
function positions(after: number, until: number): number[] {
  return Array.from({ length: until - after }, (_, index) => after + index + 1).filter(
    (position) => position % 3 === 0 && position % 11 !== 0,
  );
}

describe('events of a site in a log that one query does not look at as a whole', () => {
  it.each([
    [0, EVENTS],
    [0, 100_000],
    [99_999, 200_001],
    [EVENTS - 5, EVENTS],
    [EVENTS, EVENTS],
  ])('are counted after %i up to %i', async (after, until) => {
    const expected = positions(after, until).length;
    expect(await countSiteEvents(postgres.pool, 'shop.example', after, until)).toBe(expected);
  });

  it('are counted to the end, and with their size', async () => {
    const { pool } = postgres;
    expect(await countSiteEvents(pool, 'shop.example', 7)).toBe(positions(7, EVENTS).length);
    const size = await postgres.read((client) => countSite(client, 'shop.example'));
    expect(size).toMatchObject({ events: positions(0, EVENTS).length });
  });
});
