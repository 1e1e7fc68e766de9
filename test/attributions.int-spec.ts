import fc from 'fast-check';
import type { PoolClient } from 'pg';
import { allProjections } from '../src/app/projections.js';
import { externalIdKey } from '../src/events/person-keys.js';
import { Sealer } from '../src/kernel/sealing.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { type Page, pageFor } from '../src/log/projections/projection.js';
import { compareProjection } from '../src/log/projections/projection-difference.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { type Grouping, readSources } from '../src/statistics/sources.js';
import { statisticsProjection } from '../src/statistics/statistics.projection.js';
import { readTotals } from '../src/statistics/totals.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import { pruneIdentifiers } from '../src/visitors/prune-identifiers.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { ConversionEvents, type SampleVisit } from './support/statistics.js';
import { eventually } from './support/waiting.js';

/** The last one has no email. */
const PEOPLE = [...['aa', 'bb', 'cc', 'dd'].map((byte) => byte.repeat(32)), externalIdKey('C-1')];
const NO_EMAIL = PEOPLE.at(-1) as string;
const [JANE, JOHN] = PEOPLE as [string, string];
/** Rows of a site and a quarter; small, so that histories of a few events exceed it. */
const FIRST_MAX = 3;
const ALWAYS = { fromMs: 0, toMs: Date.parse('2100-01-01T00:00:00Z') };
const GROUPINGS: readonly Grouping[] = ['source', 'campaign', 'click'];

let postgres: Postgres;
let log: EventLog;
let runner: ProjectionRunner;
let second: ProjectionRunner;
let erasure: Erasure;
let opened = 0;
const statistics = statisticsProjection(FIRST_MAX);

beforeAll(async () => {
  postgres = await openDatabase(await createDatabase());
  log = new PostgresEventLog(postgres);
  const projections = allProjections(new SiteSecrets(postgres.pool, new Sealer(Buffer.alloc(32)))).map((projection) =>
    projection.name === 'statistics' ? statistics : projection,
  );
  runner = new ProjectionRunner(postgres, projections);
  second = new ProjectionRunner(postgres, projections);
  erasure = new Erasure(postgres, projections, async () => {});
});
afterAll(async () => {
  await log?.close();
  await postgres?.close();
});

function openSite() {
  opened += 1;
  const host = `attributions-${opened}.example`;
  return { host, events: new ConversionEvents(log, host) };
}

const catchUp = () => runner.catchUp('statistics');

async function expectRebuildEqual(): Promise<void> {
  await catchUp();
  expect(await runner.compare('statistics', new Date(0))).toMatchObject({ missing: 0, surplus: 0 });
}

async function campaigns(site: string): Promise<(string | null)[]> {
  const sources = await readSources(postgres, { sites: [site], period: ALWAYS, by: 'campaign', limit: 100 });
  return sources.items.map(({ campaign }) => campaign);
}

function rowsOf(site: string): Promise<number> {
  const sql = 'SELECT count(*)::int AS count FROM cc.attributions WHERE site = $1';
  return postgres.pool.query<{ count: number }>(sql, [site]).then(({ rows }) => rows[0]?.count ?? 0);
}

describe('the sources of a site', () => {
  it('are bounded, whatever visitors invent', async () => {
    const { host, events } = openSite();
    for (let number = 0; number < 20; number += 1)
      await events.decided('received', JOHN, { value: 1 }, { visit: { source: 'x', campaign: `invented-${number}` } });
    await events.decided('received', JANE, {}, { visit: { source: 'x', campaign: 'invented-1' } });
    await catchUp();
    expect(await rowsOf(host)).toBeLessThanOrEqual(2 * FIRST_MAX + 2);
    const sources = await readSources(postgres, { sites: [host], period: ALWAYS, by: 'campaign', limit: 100 });
    const counted = sources.items.reduce((sum, { conversions }) => sum + conversions, sources.other.conversions);
    expect(counted).toBe(21);
    expect(sources.items[0]).toMatchObject({ campaign: 'invented-1', conversions: 2 });
    await expectRebuildEqual();
  });

  it('are not named any more when the first conversion with the name is erased', async () => {
    const { host, events } = openSite();
    await events.decided('received', JANE, {}, { visit: { campaign: 'spring' } });
    for (let number = 0; number < FIRST_MAX; number += 1) await events.decided('received', JOHN);
    await events.decided('received', JOHN, {}, { visit: { campaign: 'spring' } });
    await catchUp();
    expect(await campaigns(host)).toEqual(['spring']);
    await erasure.erase('cli', host, JANE);
    const sources = await readSources(postgres, { sites: [host], period: ALWAYS, by: 'campaign', limit: 100 });
    expect(sources).toMatchObject({ items: [], other: { conversions: 1 }, unknown: 1, unknownMatched: 1, matched: 2 });
    await expectRebuildEqual();
  });

  it('count people without an email, and forget them when they are erased', async () => {
    const { host, events } = openSite();
    await events.decided('received', NO_EMAIL, {}, { visit: { campaign: 'spring' } });
    await events.decided('received', JOHN, {}, { visit: { campaign: 'spring' } });
    await events.decided('received', NO_EMAIL);
    await catchUp();
    const read = () => readSources(postgres, { sites: [host], period: ALWAYS, by: 'campaign', limit: 100 });
    expect(await read()).toMatchObject({ items: [{ campaign: 'spring', conversions: 2 }], matched: 2 });
    await erasure.erase('cli', host, NO_EMAIL);
    expect(await read()).toMatchObject({
      items: [{ campaign: 'spring', conversions: 1 }],
      unknownMatched: 1,
      matched: 2,
    });
    await expectRebuildEqual();
  });

  it('expire', async () => {
    const { host, events } = openSite();
    await events.decided('received', JANE, {}, { visit: { campaign: 'spring' } });
    const late = await events.decided('received', JOHN);
    await catchUp();
    await pruneIdentifiers(postgres, new Date('2100-01-01T00:00:00Z'));
    expect(await rowsOf(host)).toBe(0);
    await events.reopened(late, JOHN, { campaign: 'spring' }, '2026-01-01');
    await catchUp();
    await erasure.erase('cli', host, JANE);
    expect(await rowsOf(host)).toBe(0);
    await runner.rebuild('statistics');
    expect(await rowsOf(host)).toBe(1);
  });

  it('keep the fill factor of their table in a rebuild', async () => {
    const options = `SELECT relname, reloptions FROM pg_class WHERE relname IN ('attributions', 'conversion_statistics') ORDER BY 1`;
    await runner.rebuild('statistics');
    expect((await postgres.pool.query(options)).rows).toEqual([
      { relname: 'attributions', reloptions: ['fillfactor=70'] },
      { relname: 'conversion_statistics', reloptions: ['fillfactor=70'] },
    ]);
  });
});

describe('an erasure', () => {
  it('is not reported as a difference when it happens during the comparison with the log', async () => {
    const { host, events } = openSite();
    await events.decided('received', JANE, {}, { visit: { campaign: 'spring' } });
    await catchUp();
    const erasing = {
      ...statistics,
      fold: async (page: Page) => {
        await erasure.erase('cli', host, JANE);
        await statistics.fold(page);
      },
    };
    expect(await compareProjection(postgres, erasing, new Date(0))).toMatchObject({ missing: 0, surplus: 0 });
    expect(await rowsOf(host)).toBe(0);
  });

  it('leaves no negative counts if the counts of identifiers expire meanwhile', async () => {
    const { host, events } = openSite();
    await events.decided('received', JANE, {}, { visit: { campaign: 'spring' } });
    await catchUp();
    await postgres.pool.query('DELETE FROM cc.identifier_statistics WHERE site = $1', [host]);
    await erasure.erase('cli', host, JANE);
    const { rows } = await postgres.pool.query('SELECT conversions FROM cc.identifier_statistics WHERE site = $1', [
      host,
    ]);
    expect(rows).toEqual([]);
    // What the other specs compare.
    await runner.rebuild('statistics');
  });

  /** Folds what is new, without the end of the transaction. */
  async function foldWithoutEnd(): Promise<PoolClient> {
    const client = await postgres.pool.connect();
    await client.query('BEGIN');
    const { rows } = await client.query<{ position: string }>(
      `SELECT position FROM cc.projections WHERE name = 'statistics' FOR UPDATE`,
    );
    const until = await log.head();
    await statistics.fold(await pageFor(statistics, client, Number(rows[0]?.position), until, true));
    await client.query(`UPDATE cc.projections SET position = $1 WHERE name = 'statistics'`, [until]);
    return client;
  }

  const isWaiting = () =>
    eventually(
      async () => (await postgres.pool.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount,
      (waiting) => waiting === 1,
    );

  it.each(['committed', 'lost'])('waits for a page with a conversion of the person that is then %s', async (end) => {
    const { host, events } = openSite();
    await events.decided('received', JANE, {}, { visit: { campaign: 'jane' } });
    await catchUp();
    await events.decided('received', JANE, {}, { visit: { campaign: 'in-flight' } });
    const client = await foldWithoutEnd();
    const erased = erasure.erase('cli', host, JANE);
    await isWaiting();
    await client.query(end === 'committed' ? 'COMMIT' : 'ROLLBACK');
    client.release();
    await erased;
    expect(await campaigns(host)).toEqual([]);
    await expectRebuildEqual();
    expect(await rowsOf(host)).toBe(0);
  });

  it('equals a rebuild while two instances fold and people are erased', async () => {
    const { host, events } = openSite();
    const sites = [host, openSite().host];
    const work = PEOPLE.flatMap((person, index) =>
      Array.from({ length: 5 }, async (_, number) => {
        const visit = { campaign: `${(index + number) % 4}` };
        const id = await events.decided('received', person, { value: 0.1 }, number % 2 === 0 ? { visit } : {});
        await Promise.all([runner.catchUp('statistics'), second.catchUp('statistics')]);
        if (number % 2 === 1) await events.reopened(id, person, visit, '2026-01-01');
        if (number === 3) await erasure.erase('cli', sites[0] as string, person);
      }),
    );
    await Promise.all(work);
    await expectRebuildEqual();
  });
});

type Step =
  | { readonly kind: 'received' | 'deduplicated' | 'filtered'; readonly person: number; readonly data: object }
  | { readonly kind: 'matched' | 'late'; readonly person: number; readonly visit: SampleVisit }
  | { readonly kind: 'outcome'; readonly status: 'delivered' | 'accepted' | 'failed'; readonly data: object }
  | { readonly kind: 'erase'; readonly person: number }
  | { readonly kind: 'refused' | 'fold' | 'rebuild' };

const person = fc.nat(PEOPLE.length - 1);
const visit = fc.record(
  {
    source: fc.constantFrom('google', 'newsletter', 'x'.repeat(150), '🙂'.repeat(120)),
    campaign: fc.string({ maxLength: 5, unit: fc.constantFrom('a', 'ü', '🙂', '"', '\\') }),
    click: fc.constantFrom('gclid', 'fbclid'),
  },
  { requiredKeys: [] },
);
const data = fc.record(
  {
    value: fc.constantFrom(0, 0.1, 0.2, 1e-7, 12_345_678.9),
    currency: fc.constantFrom('EUR', 'USD'),
    trial: fc.boolean(),
    correction: fc.constant(true),
  },
  { requiredKeys: [] },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('received', 'deduplicated', 'filtered'), person, data }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('matched', 'late'), person, visit }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('outcome' as const),
      status: fc.constantFrom('delivered', 'accepted', 'failed'),
      data: fc.constantFrom({}, { nextTry: '2026-01-01T00:00:00.000Z' }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('erase' as const), person }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('refused', 'fold', 'fold', 'rebuild') }) },
) as fc.Arbitrary<Step>;

describe('statistics after any history', () => {
  it('equal a rebuild, and agree with each other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const { host, events } = openSite();
        const received: string[] = [];
        for (const step of steps) await carryOut(step, host, events, received);
        await expectRebuildEqual();
        for (const name of ['totals', 'match_rate']) await runner.catchUp(name);
        await expectAgreement(host);
      }),
      { seed: 20_261_116, numRuns: 15, endOnFailure: true },
    );
  });
});

/** The same numbers, whichever way they are counted. */
async function expectAgreement(host: string): Promise<void> {
  const { rows } = await postgres.pool.query(
    `SELECT (SELECT coalesce(sum(conversions), 0)::int FROM cc.totals WHERE site = $1) AS conversions,
            (SELECT coalesce(sum(matched), 0)::int FROM cc.match_rate WHERE site = $1) AS matched`,
    [host],
  );
  const { conversions, matched, values } = (await readTotals(postgres, [host], ALWAYS)).items[0] ?? { values: [] };
  expect({ conversions, matched }).toEqual(rows[0]);
  expect(values.reduce((sum, of) => sum + of.conversions, 0)).toBe(conversions);
  for (const by of GROUPINGS) {
    const sources = await readSources(postgres, { sites: [host], period: ALWAYS, by, limit: 2 });
    const items = sources.items.reduce((sum, { conversions }) => sum + conversions, sources.other.conversions);
    expect(items + sources.notMatched.conversions + sources.unknown).toBe(conversions);
    expect(sources.unknownMatched).toBeGreaterThanOrEqual(0);
    expect(sources.matched).toBe(matched);
    if (by !== 'click') expect(items + sources.unknownMatched).toBe(matched);
  }
}

async function carryOut(step: Step, host: string, events: ConversionEvents, received: string[]): Promise<void> {
  const last = received.at(-1);
  switch (step.kind) {
    case 'received':
    case 'deduplicated':
    case 'filtered':
      await events.decided(step.kind, PEOPLE[step.person] as string, step.data);
      return;
    case 'matched': {
      received.push(await events.decided('received', PEOPLE[step.person] as string, {}, { visit: step.visit }));
      return;
    }
    case 'late': {
      const id = await events.decided('received', PEOPLE[step.person] as string);
      if (step.person === 0) await catchUp();
      if (step.person === 1) await erasure.erase('cli', host, JANE);
      const [opening] = await log.readStream('conversion', id);
      const joins = opening?.time.slice(0, 10);
      await events.reopened(id, PEOPLE[step.person] as string, step.visit, joins);
      return;
    }
    case 'outcome':
      if (last) await events.outcome(last, step.status, 'meta', step.data);
      return;
    case 'erase':
      await erasure.erase('cli', host, PEOPLE[step.person] as string);
      return;
    case 'refused':
      await events.refused(2);
      return;
    case 'fold':
      await catchUp();
      return;
    case 'rebuild':
      await runner.rebuild('statistics');
      return;
  }
}
