import { sitesAttention } from '../src/app/attention/attention.js';
import { changeRules, DEFAULT_RULES, readRules } from '../src/app/attention/rules.js';
import { allProjections } from '../src/app/projections.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { useAdmin } from './support/admin.js';

const QUARTER_MS = 15 * 60_000;
const HOUR_MS = 4 * QUARTER_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

const admin = await useAdmin();
const { log, postgres } = admin;
const boss = await admin.signedIn('admin');
const sites = new SiteRepository(log);
const runner = new ProjectionRunner(
  postgres,
  allProjections(new SiteSecrets(postgres.pool, new Sealer(Buffer.alloc(32)))),
);
const dependencies = { settings: readSettings({}), postgres, log, projections: runner };
const NOW_MS = Math.floor(postgres.clock.nowMs() / QUARTER_MS) * QUARTER_MS;
let added = 0;

afterEach(async () => {
  await postgres.pool.query('DELETE FROM cc.conversion_statistics; DELETE FROM cc.match_rate');
});

/** Of a site that was added long ago, as far as its events tell. */
async function kindsOf(more: { readonly openSince?: string } = {}) {
  const host = hostOf();
  await boss.post('/sites', { host });
  await boss.put(`/sites/${host}/inbound`, { enabled: true });
  for (const name of ['deliveries', 'statistics']) await runner.catchUp(name);
  return async (laterMs = 0) => {
    const clock = { nowMs: () => postgres.clock.nowMs() + laterMs };
    const late = { ...dependencies, postgres: Object.create(postgres, { clock: { value: clock } }) };
    const site = { ...(await sites.get(host)), openSince: undefined, createdAt: '2020-01-01T00:00:00.000Z', ...more };
    return (await sitesAttention(late, [site])).items.map(({ kind }) => kind);
  };
}

const hostOf = () => `rules-${added}.example`;

/** So many conversions in the quarters that begin so long ago. */
async function received(agosMs: readonly number[], conversions: number): Promise<void> {
  const rows = agosMs.map((agoMs) => ({
    ...{ site: hostOf(), currency: 'EUR', conversions, value: 0, matched: 0 },
    ...{ duplicates: 0, changed_duplicates: 0, filtered: 0, quarter: new Date(NOW_MS - agoMs).toISOString() },
  }));
  await postgres.pool.query(
    'INSERT INTO cc.conversion_statistics SELECT * FROM json_populate_recordset(null::cc.conversion_statistics, $1)',
    [JSON.stringify(rows)],
  );
}

/** 40 quarters around each of the last weeks' same time. */
const weekly = (weeks: readonly number[]) =>
  weeks.flatMap((week) => Array.from({ length: 40 }, (_, index) => week * WEEK_MS + (index - 20) * QUARTER_MS));

beforeEach(() => {
  added += 1;
});

describe('no_conversions', () => {
  it('begins when a site is silent at a time that was busy in earlier weeks', async () => {
    const kinds = await kindsOf();
    await received([2 * HOUR_MS, ...weekly([1, 2, 3, 4])], 2);
    expect(await kinds()).toEqual(['no_conversions']);
    await received([-0], 1);
    expect(await kinds()).toEqual([]);
  });

  it('does not begin at a time that was quiet in one of the weeks, or within an hour of a busy one', async () => {
    const kinds = await kindsOf();
    await received([2 * HOUR_MS, ...weekly([1, 2, 4])], 2);
    expect(await kinds()).toEqual([]);
    const early = weekly([3]).filter((agoMs) => agoMs > 3 * WEEK_MS + 1.5 * HOUR_MS);
    await received(early, 2);
    expect(await kinds()).toEqual([]);
  });

  it('lasts as long as the silence, also for weeks', async () => {
    const kinds = await kindsOf();
    await received(
      [40, 44, 51, 58, 65].map((days) => days * DAY_MS),
      20,
    );
    expect(await kinds()).toEqual(['no_conversions']);
  });

  it('does not count the time of a pause as silence', async () => {
    const kinds = await kindsOf({ openSince: new Date(NOW_MS - QUARTER_MS).toISOString() });
    await received([2 * HOUR_MS, ...weekly([1, 2, 3, 4])], 2);
    expect(await kinds()).toEqual([]);
  });

  it('does not begin while conversions are received that are not counted yet', async () => {
    const kinds = await kindsOf();
    await received([2 * HOUR_MS, ...weekly([1, 2, 3, 4])], 2);
    expect(await kinds()).toEqual(['no_conversions']);
    await changeRules(log, 'system', { refusedPercent: 20 });
    expect(await kinds(2 * 60_000)).toEqual([]);
    for (const name of ['deliveries', 'statistics']) await runner.catchUp(name);
    expect(await kinds(2 * 60_000)).toEqual(['no_conversions']);
  });
});

describe('match_rate_down', () => {
  it('compares today and yesterday with the four weeks before, without late matches', async () => {
    const kinds = await kindsOf();
    const insert = (daysAgo: number, conversions: number, matched: number, late: number) =>
      postgres.pool.query('INSERT INTO cc.match_rate VALUES ($1, $2, $3, $4, $5, 0)', [
        hostOf(),
        new Date(postgres.clock.nowMs() - daysAgo * DAY_MS).toISOString().slice(0, 10),
        ...[conversions, matched, late],
      ]);
    await insert(5, 1_000, 900, 500);
    await insert(1, 100, 40, 0);
    expect(await kinds()).toEqual([]);
    await insert(0, 100, 10, 0);
    expect(await kinds()).toEqual(['match_rate_down']);
  });
});

describe('the rules', () => {
  it('are the defaults until one is changed, and the others keep theirs', async () => {
    expect(await changeRules(log, 'system', { ...DEFAULT_RULES, silentGaps: 50 })).toMatchObject({ silentGaps: 50 });
    const head = await log.head();
    expect(await changeRules(log, 'system', { silentGaps: 50 })).toEqual(await readRules(log));
    expect(await log.head()).toBe(head);
    const kinds = await kindsOf();
    await received([2 * HOUR_MS, ...weekly([1, 2, 3, 4])], 2);
    expect(await kinds()).toEqual([]);
    await changeRules(log, 'system', { silentGaps: 14 });
    expect(await kinds()).toEqual(['no_conversions']);
  });
});
