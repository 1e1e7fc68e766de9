import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publishedData } from '../src/kafka/cloud-event.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { startTestAdmin } from './support/admin.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';
import { conversionId, post, useService } from './support/service.js';
import { storeConversion } from './support/stored-conversion.js';

const META = { pixel_id: '900000000000101' };
const SCRIPT = fileURLToPath(new URL('../docs/verify-chain.mjs', import.meta.url));
const folder = temporaryFolder('cc-payload-digests-');
const { databaseUrl, operator, service, openSite } = await useService();
const { run, text: cli } = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY, DATA_DIR: folder });
const sandbox = await new Sandbox().start();
const admin = await startTestAdmin(databaseUrl);
const analyst = await admin.signedIn('analyst');
const site = await openSite();
/** Conversions that this version received, and that an earlier one did. */
let ids: { readonly received: string; readonly earlier: string };

beforeAll(async () => {
  await operator.connect(site.host, 'meta', { ...META, access_token: 'token' }, `${sandbox.url}/meta`);
  await service.refreshSites();
  const reply = await post(service, site, { email: 'jane@example.com', event: 'purchase', value: 5, currency: 'EUR' });
  expect(JSON.parse(reply.body)).toMatchObject({ results: { meta: { status: 'delivered' } } });
  const earlier = { site: site.host, orderId: 'ORD-1', settings: META, payloadKey: undefined };
  const outcomes = [{ status: 'deferred', reason: 'timeout', unknown: true }, { status: 'delivered' }] as const;
  ids = {
    received: conversionId(reply),
    earlier: await storeConversion(operator.log, { ...earlier, outcomes }),
  };
});
afterAll(async () => {
  await admin.stop();
  await sandbox.stop();
});

/** The digest that a person computes who knows the address, the order and how payloads are built. */
async function guessOf(id: string): Promise<string> {
  const boss = await admin.signedIn('admin');
  const { deliveries } = (await boss(`/sites/${site.host}/conversions/${id}`)).body;
  expect(deliveries).toMatchObject([{ platform: 'meta', payloadIsExact: true }]);
  return hash('sha256', JSON.stringify(deliveries[0].payload));
}

it.each(['received', 'earlier'] as const)(
  'A reader who has a list of addresses cannot tell by a digest whose payload it is: %s',
  async (name) => {
    const guess = await guessOf(ids[name]);
    const stored = await operator.conversion(ids[name]);
    expect(stored).toBeDefined();
    const file = join(folder, `${name}.csv`);
    await cli(`events export --no-personal --format csv --out ${file}`);
    const { rows } = await operator.postgres.pool.query<{ type: string; data: string }>(
      'SELECT type, data::text AS data FROM cc.events ORDER BY position',
    );
    const views = {
      history: JSON.stringify((await analyst(`/sites/${site.host}/conversions/${ids[name]}`)).body),
      events: JSON.stringify((await analyst(`/sites/${site.host}/events?limit=500`)).body),
      ndjson: await cli('events export --no-personal'),
      csv: readFileSync(file, 'utf8'),
      personal: await cli('events export'),
      shown: await cli(`events show --conversion ${ids[name]}`),
      records: rows.map(({ type, data }) => publishedData(type, data)).join('\n'),
    };
    for (const [view, content] of Object.entries(views)) {
      expect([view, content.includes(ids[name])]).toEqual([view, true]);
      expect([view, content.includes(guess)]).toEqual([view, false]);
    }
    // The digest is in the database: events cannot be changed.
    expect(rows.some(({ data }) => data.includes(guess))).toBe(name === 'earlier');
  },
);

it('The hash chain is verified, in the database and from exports, also where they omit a plain digest', async () => {
  // Some other checks fail: nothing posted the earlier conversion.
  expect((await run('history verify')).stdout).toMatch(/^ok +chain .*\nok +schemas /m);
  const files = { events: join(folder, 'events.ndjson'), seals: join(folder, 'seals.ndjson') };
  await cli(`events export --out ${files.events}`);
  writeFileSync(files.seals, await cli('history seals'));
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, files.events, files.seals], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/the digests of [1-9]\d* were taken/)]);
});

it('An erasure deletes the key of the digests, and keeps them', async () => {
  const before = (await operator.conversions(site.host)).find(({ data }) => data['conversionId'] === ids.received);
  const payloadKey = before?.personal?.['payloadKey'];
  expect(payloadKey).toEqual(expect.any(String));
  await cli(`visitors erase --site ${site.host} --email jane@example.com`);
  const { rows } = await operator.postgres.pool.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM cc.personal p WHERE strpos(row_to_json(p)::text, $1) > 0',
    [payloadKey],
  );
  expect(rows).toEqual([{ count: 0 }]);
  const { events } = (await analyst(`/sites/${site.host}/conversions/${ids.received}`)).body;
  expect(events.at(-1).data).toMatchObject({ status: 'delivered', bodySha256: expect.stringMatching(/^[\w-]{43}$/) });
});
