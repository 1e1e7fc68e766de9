import { hash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { publishedData } from '../src/kafka/cloud-event.js';
import { ResumeSite } from '../src/sites/site.commands.js';
import { commandLine } from './support/command-line.js';
import { createEmptyDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';
import { openOperator, startTestService, useService } from './support/service.js';
import {
  bodyOf,
  type ConnectedSource,
  connectSource,
  deliver,
  FIRST,
  fixtureOf,
  play,
} from './support/source-deliveries.js';

const folder = temporaryFolder('cc-source-records-');
const path = (name: string) => join(folder, name);
const { databaseUrl, operator, service, openSite } = await useService();
const { json, lines, projectionsCaughtUp } = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the documented deliveries say about people; and hashes of it, which are personal, too. */
const RAW = /@(?!example\.com"?,?$)|bob@|jon@|jenny|john\.doe|Norman|555-625|\(555\)|192\.0\.2|Mozilla/i;
const sources: ConnectedSource[] = [];
let host: string;

/** A conversion, a duplicate, a correction and a delivery that is no conversion, of every source that has them. */
beforeAll(async () => {
  const site = await openSite();
  host = site.host;
  const ga4 = { measurement_id: 'G-ABC1234', api_secret: 's', refund_event: 'refund', events: 'lead' };
  await operator.connect(host, 'ga4', ga4, 'http://127.0.0.1:9');
  for (const [name, fixture] of FIRST) {
    const to = await connectSource(operator, site, name);
    sources.push(to);
    await service.refreshSites();
    expect((await play(service, to, fixture)).status).toBe(200);
  }
  const [shopify, , woocommerce] = sources as [ConnectedSource, ConnectedSource, ConnectedSource];
  expect(bodyOf(await play(service, shopify, 'refunds-create'))).toMatchObject({ outcome: 'corrected' });
  expect(bodyOf(await play(service, shopify, 'orders-create'))).toMatchObject({ reason: 'order_known' });
  const { raw, topic } = fixtureOf('woocommerce', 'order.updated');
  const pending = raw.replace(/"status": "\w+"/, '"status": "pending"');
  expect(bodyOf(await deliver(service, woocommerce, pending, topic))).toMatchObject({ reason: 'condition' });
  await projectionsCaughtUp();
});

type Exported = Record<string, unknown> & { type: string; data: Record<string, unknown>; personal: object | null };

const exported = () => lines<Exported>(`events export --site ${host}`);
const ofSources = (events: readonly Exported[]) =>
  events.filter(({ type, data }) => type === 'inbound.delivery_ignored.v1' || 'delivery' in data);

/** What events say in public: neither what was sent about people, nor a hash of it. */
function saysNothingAboutPeople(text: string): void {
  expect(text).not.toMatch(/"personal":\{/);
  for (const [name, fixture] of FIRST) {
    const { email } = fixtureOf(name, fixture).conversion as { email: string };
    for (const form of [email, hash('sha256', email), hash('sha256', email, 'base64')])
      expect(text).not.toContain(form);
  }
  expect(text).not.toMatch(RAW);
}

describe('deliveries of sources in the log', () => {
  it('pass history verify', async () => {
    const { checks } = await json('history verify');
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  });

  it('would have become the same by the rules of the site', async () => {
    const { conversions, platforms, undecided } = await json(`history shadow --site ${host} --from 1 --to 1000000`);
    const counts = { received: 5 };
    expect({ conversions, undecided }).toEqual({
      conversions: { was: counts, would: counts, changes: [] },
      undecided: 0,
    });
    expect(platforms['ga4']).toMatchObject({ changes: [], payloadsChanged: 0 });
  });

  it('are exported as NDJSON, CSV and Parquet, without the personal part if that is asked for', async () => {
    const all = ofSources(await exported());
    expect(all.map(({ type }) => type).sort()).toEqual([
      ...Array.from({ length: 5 }, () => 'conversion.received.v1'),
      ...Array.from({ length: 2 }, () => 'inbound.delivery_ignored.v1'),
    ]);
    // What was sent about the person is hashed, also in the personal part.
    for (const { personal } of all) {
      expect(JSON.stringify(personal)).not.toMatch(/@\w/);
      const { delivery } = personal as { readonly delivery: object };
      expect(JSON.stringify(delivery)).not.toMatch(/john|doe\b|555|Mozilla/i);
    }
    for (const format of ['ndjson', 'csv', 'parquet'])
      await json(`events export --site ${host} --format ${format} --no-personal --out ${path(format)}`);
    const publicForms = all.map((event) => ({ ...event, personal: null }));
    const ndjson = readFileSync(path('ndjson'), 'utf8');
    const parsed = ndjson
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Exported);
    expect(ofSources(parsed)).toEqual(publicForms);
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path('parquet')) });
    expect(ofSources(rows as Exported[]).map(({ data }) => data)).toEqual(publicForms.map(({ data }) => data));
    const csv = readFileSync(path('csv'), 'utf8');
    for (const { data } of all)
      expect(csv).toContain((data['delivery'] as { digest: string })?.digest ?? data['digest']);
    for (const text of [
      ndjson,
      csv,
      JSON.stringify(rows, (_, each) => (typeof each === 'bigint' ? String(each) : each)),
    ])
      saysNothingAboutPeople(text);
  });

  it('are in the tables of conversions', async () => {
    await json(`events export --site ${host} --table conversions --no-personal --out ${path('conversions')}`);
    const text = readFileSync(path('conversions'), 'utf8');
    expect(text.trim().split('\n')).toHaveLength(5);
    saysNothingAboutPeople(text);
  });

  it('are published to topics without what they say about people', async () => {
    const { rows } = await operator.postgres.pool.query<{ type: string; data: string }>(
      `SELECT type, data::text AS data FROM cc.events WHERE site = $1 AND (data ->> 'delivery' IS NOT NULL OR category = 'inbound')`,
      [host],
    );
    expect(rows).toHaveLength(7);
    saysNothingAboutPeople(rows.map(({ type, data }) => publishedData(type, data)).join('\n'));
  });

  it('are known after the dedup claims were rebuilt', async () => {
    await json('projections rebuild dedup');
    for (const [at, [, fixture]] of FIRST.entries())
      expect(bodyOf(await play(service, sources[at] as ConnectedSource, fixture))).toMatchObject({
        outcome: 'repeated',
      });
    const { checks } = await json('history verify');
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  });
});

it('a restored backup knows its deliveries, and takes those that came after it when they are repeated', async () => {
  const site = await openSite();
  const to = await connectSource(operator, site, 'shopify');
  await service.refreshSites();
  const { raw, topic } = fixtureOf('shopify', 'orders-paid');
  const later = raw.replaceAll('820982911946154508', '820982911946154509');
  expect(bodyOf(await play(service, to, 'orders-paid'))).toMatchObject({ outcome: 'received' });
  const file = path('backup');
  await json('backup --out', file);
  expect(bodyOf(await deliver(service, to, later, topic))).toMatchObject({ outcome: 'received' });

  const target = await createEmptyDatabase();
  const copy = commandLine({ DATABASE_URL: target, SECRET_KEY });
  await copy.json('restore', file);
  const restored = await startTestService(target);
  const restorer = await openOperator(target);
  try {
    // Until the site is resumed, senders repeat.
    expect((await play(restored, to, 'orders-paid')).status).toBe(503);
    await restorer.execute(new ResumeSite('cli', site.host));
    await restored.refreshSites();
    expect(bodyOf(await play(restored, to, 'orders-paid'))).toMatchObject({ outcome: 'repeated' });
    expect(bodyOf(await deliver(restored, to, later, topic))).toMatchObject({ outcome: 'received' });
    expect(bodyOf(await deliver(restored, to, later, topic))).toMatchObject({ outcome: 'repeated' });
    expect(await restorer.conversions(site.host)).toHaveLength(2);
    const { checks } = await copy.json('history verify');
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  } finally {
    await restored.stop();
    await restorer.close();
  }
});
