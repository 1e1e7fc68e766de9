import { jest } from '@jest/globals';
import { allProjections } from '../src/app/projections.js';
import { Sealer } from '../src/kernel/sealing.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import { type ErasureOptions, eraseSubject } from '../src/log/erasure.js';
import type { StoredEvent } from '../src/log/event.js';
import type { Projection } from '../src/log/projections/projection.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { useLog } from './support/databases.js';
import { thing } from './support/event-log.contract.js';
import { eventually } from './support/waiting.js';

/** The log's own table of personal parts, which erasure always includes. */
const PERSONAL = { table: 'personal', column: 'subject' };

const { postgres, log } = await useLog();

describe('subject columns', () => {
  it('are declared by a projection for every table that has one, so that erasure includes it', async () => {
    const { rows } = await postgres.pool.query<{ table: string; column: string }>(
      `SELECT table_name AS table, column_name AS column FROM information_schema.columns
        WHERE table_schema = 'cc' AND column_name = 'subject' AND data_type = 'bytea' ORDER BY table_name`,
    );
    const projections = allProjections(new SiteSecrets(postgres.pool, new Sealer(Buffer.alloc(32))));
    const declared = projections.flatMap(({ subjectColumns = [] }) => subjectColumns);
    const sorted = [...declared, PERSONAL].sort((one, other) => (one.table < other.table ? -1 : 1));
    expect(rows).toEqual(sorted);
  });
});

describe('an erasure of more events than one transaction takes', () => {
  const PERSON = 'ab'.repeat(32);
  const BROWSER = 'cd'.repeat(32);
  const PART_EVENTS = 3;
  /** Called with the events that a projection is to forget. */
  let onForget: (events: readonly StoredEvent[]) => Promise<void>;

  beforeEach(() => {
    onForget = async () => {};
  });

  const append = (site: string, subject: string, personal = {}) =>
    log.append(
      thing(uuidv7(), { site, events: [{ type: 'thing.happened.v1', data: {}, personal: { subject, ...personal } }] }),
    );

  async function openSite(): Promise<string> {
    const site = `${uuidv7()}.example`;
    await append(site, PERSON, { browser: BROWSER });
    for (let count = 0; count < 5; count += 1) {
      await append(site, PERSON);
      await append(site, BROWSER);
    }
    await postgres.pool.query(
      `INSERT INTO cc.projections (name, position) VALUES ('things', $1)
       ON CONFLICT (name) DO UPDATE SET position = excluded.position`,
      [await log.head()],
    );
    return site;
  }

  function erase(site: string) {
    const take = (_: unknown, events: readonly StoredEvent[]) => onForget(events);
    const things: Projection = {
      name: 'things',
      tables: [],
      fold: async () => {},
      forget: { types: ['thing.happened.v1'], take },
    };
    const options: ErasureOptions = {
      site,
      subjects: [PERSON],
      projections: [things],
      linkedSubjects: (personal) => personal.flatMap((data) => (data as { browser?: string } | null)?.browser ?? []),
      record: ({ events }) => {
        const event = { type: 'thing.erased.v1', data: { events } };
        return { ...thing(), site, expected: 'new', events: [event] };
      },
    };
    return eraseSubject(postgres, options, PART_EVENTS);
  }

  async function partsLeft(site: string): Promise<number> {
    return (await postgres.pool.query('SELECT FROM cc.personal WHERE site = $1', [site])).rowCount as number;
  }

  const recorded = async (site: string) =>
    (await log.read({ site, types: ['thing.erased.v1'] as string[] })).reduce(
      (sum, { data }) => sum + (data as unknown as { events: number }).events,
      0,
    );

  it('does not fail appends when its process freezes while they wait for it, and erases nothing then', async () => {
    const site = await openSite();
    const parts = await partsLeft(site);
    const connect = postgres.connect.bind(postgres);
    let thaw: () => void = () => {};
    let onFrozen: () => void = () => {};
    const frozen = new Promise<void>((resolve) => {
      onFrozen = resolve;
    });
    jest.spyOn(postgres, 'connect').mockImplementation(async (purpose, ...options) => {
      const client = await connect(purpose, ...options);
      if (purpose !== 'erasure') return client;
      client.on('error', () => {});
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
      const freezing = async (...args: unknown[]) => {
        if (String(args[0]).includes('cc.append(')) {
          onFrozen();
          await new Promise<void>((resolve) => {
            thaw = resolve;
          });
        }
        return query(...args);
      };
      return Object.assign(client, { query: freezing });
    });
    const erasing = erase(site).catch((error: Error) => error);
    await frozen;
    jest.restoreAllMocks();
    await expect(log.append(thing())).resolves.toMatchObject({ status: 'appended' });
    thaw();
    expect(await erasing).toBeInstanceOf(Error);
    expect(await partsLeft(site)).toBe(parts);
    await erase(site);
    expect(await partsLeft(site)).toBe(0);
  });

  it('lets events be appended while projections forget, and erases these too', async () => {
    const site = await openSite();
    let forgotten = 0;
    onForget = async (events) => {
      forgotten += events.length;
      await append(site, BROWSER);
    };
    const { events } = await erase(site);
    expect(forgotten).toBe(11);
    expect(events).toBeGreaterThan(11);
    expect(await partsLeft(site)).toBe(0);
    expect(await recorded(site)).toBe(events);
  });

  it('lets projections forget the events of a stream together, also one that was folded since the search', async () => {
    const site = `${uuidv7()}.example`;
    const stream = uuidv7();
    const events = [{ type: 'thing.happened.v1', data: {}, personal: { subject: PERSON } }] as const;
    const add = async () => {
      await log.append({ ...thing(stream, { site, events: [...events] }), expected: 'any' });
      return log.head();
    };
    const first = await add();
    const forgotten: number[][] = [];
    onForget = async (together) => void forgotten.push(together.map(({ position }) => position));
    const client = await postgres.pool.connect();
    await client.query(
      `BEGIN; INSERT INTO cc.projections (name, position) VALUES ('things', 0) ON CONFLICT DO NOTHING`,
    );
    await client.query(`SELECT FROM cc.projections WHERE name = 'things' FOR UPDATE`);
    const erased = erase(site);
    await eventually(async () => (await postgres.pool.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount, 1);
    const second = await add();
    await client.query(`UPDATE cc.projections SET position = $1 WHERE name = 'things'`, [second]);
    await client.query('COMMIT');
    client.release();
    expect(await erased).toMatchObject({ events: 2 });
    expect(forgotten).toEqual([[first, second]]);
  });

  it('can be repeated after a crash: it then also finds what was appended about a linked subject', async () => {
    const site = await openSite();
    let calls = 0;
    onForget = async () => {
      calls += 1;
      if (calls === 3) throw new Error('crashed');
    };
    await expect(erase(site)).rejects.toThrow('crashed');
    expect(await recorded(site)).toBe(11 - (await partsLeft(site)));
    await append(site, BROWSER);
    onForget = async () => {};
    await erase(site);
    expect(await partsLeft(site)).toBe(0);
    expect(await recorded(site)).toBe(12);
  });
});
