import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { metrics, type Reply, useService } from './support/service.js';
import {
  bodyOf,
  type ConnectedSource,
  connectSource,
  deliver,
  FIRST,
  fixtureOf,
  play,
} from './support/source-deliveries.js';

const DOCUMENT = fileURLToPath(new URL('../docs/sources.md', import.meta.url));
const { operator, service, openSite } = await useService();

interface Row {
  readonly refusal: string;
  readonly source: string;
  readonly status: number;
  readonly counted: string;
}

/** The table below the heading "Refusals". */
const rows: Row[] = readFileSync(DOCUMENT, 'utf8')
  .split('\n## Refusals\n')[1]
  ?.split('\n## ')[0]
  ?.split('\n')
  .flatMap((line) => {
    const [, refusal = '', source, status, counted = ''] =
      /^\| ([^|]+) \| `(\w+)` \| (\d+) \| `(\w+)` \|/.exec(line) ?? [];
    return source === undefined ? [] : [{ refusal, source, status: Number(status), counted }];
  }) as Row[];

/** What is refused, as the sender would send it. */
const REFUSED: Readonly<Record<string, (to: ConnectedSource, fixture: string) => Promise<Reply>>> = {
  'wrong signature': (to, fixture) => play(service, to, fixture, { secret: 'another_secret' }),
  /** Recorded more than five minutes ago, and with another id in headers that are not signed. */
  'recorded delivery': async (to, fixture) => {
    const at = operator.postgres.clock.nowMs() - 301_000;
    await play(service, to, fixture);
    return play(service, to, fixture, { at, id: 'another' });
  },
  'another site': async (to, fixture) => {
    const other = await openSite();
    const reply = await play(service, to, fixture, { host: other.host });
    expect(await stored(other.host)).toEqual([]);
    return reply;
  },
  'unknown topic': (to, fixture) => {
    const { raw } = fixtureOf(to.name, fixture);
    const body = raw
      .replace('"type": "checkout.session.completed"', '"type": "customer.created"')
      .replace('"Order Completed"', '"Product Viewed"');
    return deliver(service, to, body, 'carts/update');
  },
  '5 MB': (to, fixture) => {
    const { raw, topic } = fixtureOf(to.name, fixture);
    return deliver(service, to, raw.replace(/\}\s*$/, `,"padding":"${'x'.repeat(5_000_000)}"}`), topic);
  },
};

async function stored(host: string): Promise<string[]> {
  const events = await operator.log.read({ categories: ['conversion', 'inbound'], site: host });
  return events.map(({ type }) => type);
}

const counts = async ({ source, counted }: Row) =>
  (await metrics(service)).get(`cc_source_refused_total{source="${source}",reason="${counted}"}`) ?? 0;

it('documents each refusal of each source', () => {
  const documented = rows.map(({ refusal, source }) => `${refusal}: ${source}`);
  const expected = Object.keys(REFUSED).flatMap((refusal) => FIRST.map(([source]) => `${refusal}: ${source}`));
  expect(documented).toEqual(expected);
});

it.each(rows)('$refusal: $source is answered with $status, and only counted as $counted', async (row) => {
  const [, fixture] = FIRST.find(([source]) => source === row.source) as [string, string];
  // So that the dedup window does not hide a recorded delivery.
  const to = await connectSource(operator, await openSite({ 'dedup-window': '0s' }), row.source);
  await service.refreshSites();
  const before = await counts(row);
  const reply = await (REFUSED[row.refusal] as (typeof REFUSED)[string])(to, fixture);
  expect({ status: reply.status, counted: (await counts(row)) - before }).toEqual({ status: row.status, counted: 1 });
  expect(await stored(to.site.host)).toEqual(row.refusal === 'recorded delivery' ? ['conversion.received.v1'] : []);
  if (row.counted === 'topic') expect(bodyOf(reply)).toEqual({ ok: true, outcome: 'unknown_topic' });
  if (row.counted === 'expired') expect(bodyOf(reply)).toEqual({ ok: false, error: 'The signature has expired' });
});
