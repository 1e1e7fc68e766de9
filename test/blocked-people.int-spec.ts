import { hash } from 'node:crypto';
import { publishedData } from '../src/kafka/cloud-event.js';
import { startTestAdmin } from './support/admin.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';
import { post, type TestSite, useService } from './support/service.js';
import { eventually } from './support/waiting.js';

const JANE = 'jane@example.com';
const BOB = 'bob@example.com';
const NETWORK = '203.0.113.0/24';
const VALUES = [hash('sha256', JANE), hash('sha256', BOB), NETWORK, '2001:db8::1'];

const { databaseUrl, operator, service } = await useService();
const admin = await startTestAdmin(databaseUrl);
const boss = await admin.signedIn('admin');
const { text: cli } = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY, DATA_DIR: temporaryFolder('cc-blocked-') });
let site: TestSite;

afterAll(() => admin.stop());
beforeEach(async () => {
  site = await operator.openSite();
  const lists = { blocked: { add: [JANE, BOB, '@spam.example'] }, blockIps: { add: [NETWORK] } };
  const changed = await change({ ...lists, allowIps: { add: ['2001:db8::1'] } });
  expect(changed).toMatchObject({ status: 200, body: { blocked: [VALUES[0], VALUES[1], '@spam.example'] } });
  await service.refreshSites();
});

const change = (body: object) => boss.patch(`/sites/${site.host}/settings`, body);
const buy = async (email: string) => {
  const reply = await post(service, site, { email, event: 'lead', value: Math.random(), currency: 'EUR' });
  return JSON.parse(reply.body) as { readonly filtered?: true };
};

/** All rows of all tables but those that are erased, with the positions of the personal parts of filters. */
async function storedValues(): Promise<string> {
  const { rows } = await operator.postgres.pool.query<{ row: string }>(
    `SELECT row_to_json(e)::text AS row FROM cc.events e UNION ALL SELECT row_to_json(s)::text FROM cc.sites s`,
  );
  return rows.map(({ row }) => row).join('\n');
}

it('Blocked people and networks are in erasable rows only, and neither published nor shown to those who may only read', async () => {
  expect(await buy(JANE)).toMatchObject({ filtered: true });
  expect(await buy('jim@example.com')).not.toHaveProperty('filtered');
  await cli('projections status');
  const analyst = await admin.signedIn('analyst');
  const { rows } = await operator.postgres.pool.query<{ type: string; data: string }>(
    'SELECT type, data::text AS data FROM cc.events WHERE site = $1',
    [site.host],
  );
  const shown = (await analyst(`/sites/${site.host}/settings`)).body;
  expect(shown).toMatchObject({ blocked: ['•••', '•••', '@spam.example'], blockIps: ['•••'], allowIps: ['•••'] });
  const places = {
    log: await storedValues(),
    records: rows.map(({ type, data }) => publishedData(type, data)).join('\n'),
    settings: JSON.stringify(shown),
    events: JSON.stringify((await analyst(`/sites/${site.host}/events?limit=100`)).body),
    audit: JSON.stringify((await analyst(`/sites/${site.host}/audit?limit=100`)).body),
    ndjson: await cli(`events export --site ${site.host} --no-personal`),
  };
  for (const [place, content] of Object.entries(places)) {
    expect([place, content.length > 100]).toEqual([place, true]);
    for (const value of VALUES) expect([place, value, content.includes(value)]).toEqual([place, value, false]);
  }
});

it('A value that is removed from a list is deleted, and verification accounts for it', async () => {
  await change({ blocked: { remove: [JANE] }, blockIps: { remove: [NETWORK] } });
  const { rows } = await operator.postgres.pool.query<{ part: string }>(
    'SELECT row_to_json(p)::text AS part FROM cc.personal p WHERE site = $1',
    [site.host],
  );
  const parts = rows.map(({ part }) => part).join('\n');
  expect(VALUES.map((value) => parts.includes(value))).toEqual([false, true, false, true]);
  await isBlockEnded(JANE);
  await cli('history verify');
});

it('The erasure of a blocked person ends the block on all instances, and leaves the other filters', async () => {
  await cli(`visitors erase --site ${site.host} --email ${JANE} --yes`);
  expect((await boss(`/sites/${site.host}/settings`)).body.blocked).toEqual([VALUES[1], '@spam.example']);
  await isBlockEnded(JANE);
  expect(await buy(BOB)).toMatchObject({ filtered: true });
  await cli('history verify');
});

it('A site that is removed keeps no filter', async () => {
  await boss.delete(`/sites/${site.host}`);
  const { rowCount } = await operator.postgres.pool.query('SELECT FROM cc.personal WHERE site = $1', [site.host]);
  expect(rowCount).toBe(0);
  await cli('history verify');
});

/** Other instances apply a change within a second. */
function isBlockEnded(email: string) {
  return eventually(() => buy(email), { filtered: undefined });
}
