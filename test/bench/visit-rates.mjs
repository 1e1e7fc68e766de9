// The cost of the tag's calls, and of matching a conversion with its visit.
import { join } from 'node:path';
import { ratioRow, variantColumns } from './figures.mjs';
import { BODY } from './generator.mjs';
import { withClient } from './postgres.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { startService } from './service.mjs';
import { httpVariant, inboundTarget, startEcho } from './variants.mjs';

const CONNECTIONS = 256;
const UNLIMITED = '999999999/999999999/999999999';
/** People with an identifier record: a visit and two click ids each. */
const IDENTIFIED = 50_000;
const UNKNOWN_PERSON_BODY = BODY.replace('@Example.com', '@Unknown.example');

const UUID = '5f0c7c1e-8f0a-4a5e-9d3b-0c9a4b1d2e3f';
/** As sent by a browser on the demo site. */
const HEADERS = [
  'Origin: http://localhost',
  'User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Accept-Language: de-DE,de;q=0.9',
  'Sec-Fetch-Mode: cors',
  '',
].join('\r\n');
const LANDING = JSON.stringify({
  v: 1,
  visitor: UUID,
  visit: UUID,
  page: 'http://localhost/landing?gclid=x',
  clicks: { gclid: { id: 'Cj0-$order', t: 1_700_000_000_000 } },
  utm: { source: 'google', medium: 'cpc', campaign: 'spring' },
  signals: {
    webdriver: false,
    languages: 2,
    screen: [1920, 1080],
    viewport: [1903, 969],
    touch: 0,
    plugins: 5,
    loadedMs: 800,
  },
});

/** A service with people who have visited. @param root the checkout whose build is started */
export async function startVisited(dataDir, root) {
  // All calls come from one address.
  const settings = {
    ...{ COLLECT_RATE: '100000', COLLECT_BURST: '1000000', TAG_BUDGET_PERSON: '1000000' },
    ...{ TAG_BUDGET_ADDRESS: UNLIMITED, TAG_BUDGET_SITE: UNLIMITED, TAG_BUDGET_STORAGE: '1000000' },
  };
  const empty = await startService(dataDir, settings, root);
  await withClient(empty.server, insertIdentifiers);
  await empty.stop();
  // Started again: no event tells it of the inserted people.
  return startService(dataDir, settings, root);
}

/** What is measured of it. */
export function visitTargets(service) {
  const conversions = { ...inboundTarget(service), users: IDENTIFIED };
  return {
    identified: { ...conversions, body: BODY },
    unknown: { ...conversions, body: UNKNOWN_PERSON_BODY },
    collect: { ...service, path: '/__cc/collect', expect: '204', headers: HEADERS, body: LANDING },
  };
}

export async function visitRateRows(context) {
  const { settings, directory, progress } = context;
  progress(`starting the service with ${IDENTIFIED.toLocaleString('en-US')} people with a visit, and the echo …`);
  const service = await startVisited(join(directory, 'visits'));
  const targets = { echo: await startEcho(), ...visitTargets(service) };
  const variants = Object.entries(targets).map(([id, target]) => httpVariant(id, target, CONNECTIONS, context));
  const warm = (text) => progress(text.replace('round 1/1', 'warming up'));
  await interleave(variants, 1, warm);
  const result = await interleave(variants, settings.rounds, progress);
  recordRounds(result, context);
  const of = (id) => result.samples[id] ?? [];
  const row = (what, own, other, target) => ratioRow(what, own, other, { target, columns: variantColumns(own) });
  return [
    { what: `(a) raw node:http echo, ${CONNECTIONS} connections`, figure: '1.00', ...variantColumns(of('echo')) },
    row('(b) inbound, unknown person: ratio to the echo', of('unknown'), of('echo')),
    row('(b) inbound, person with a visit: ratio to an unknown person', of('identified'), of('unknown'), {
      atLeast: 0.9,
    }),
    row('/__cc/collect, landing with a click id: ratio to the echo', of('collect'), of('echo'), { atLeast: 0.4 }),
    { what: 'conversions matched with a visit', figure: await withClient(service.server, matchedShare) },
  ];
}

/** Inserts the rows that as many identifications leave. Creating them is not measured. */
async function insertIdentifiers(client) {
  const value = (json) => `'${JSON.stringify(json)}'`;
  const visit = {
    visitorId: UUID,
    pageUrl: 'http://localhost/',
    ip: '203.0.113.7',
    userAgent: 'Mozilla/5.0',
    cookies: { _fbp: 'fb.1.1.1' },
  };
  // Version 0.1, with which later ones are compared, had neither column.
  const { rowCount } = await client.query(
    `SELECT FROM information_schema.columns WHERE table_schema = 'cc' AND table_name = 'identifiers' AND column_name = 'visitor'`,
  );
  const [columns, values] = rowCount ? ['visitor, landed,', `'\\x01', now(),`] : ['', ''];
  await client.query(
    `INSERT INTO cc.identifiers (site, subject, ${columns} kind, at, position, value)
     SELECT 'localhost', sha256(convert_to('user' || n || '@example.com', 'UTF8')), ${values} k.kind, now(), 0, k.value::json
       FROM generate_series(1, ${IDENTIFIED}) n CROSS JOIN (VALUES ('visit', ${value(visit)}),
         ('bot', ${value({ score: 0, reasons: [], list: 'bench' })}),
         ('gclid', ${value({ id: 'Cj0KCQ' })}), ('fbclid', ${value({ id: 'IwAR' })}),
         ('last', ${value({ utm: { source: 'google' } })})) AS k (kind, value)`,
  );
  await client.query('VACUUM ANALYZE cc.identifiers');
}

/** Both kinds must occur, otherwise the ratio compares a variant with itself. */
async function matchedShare(client) {
  const { rows } = await client.query(
    `SELECT count(*) FILTER (WHERE data->>'matched' = 'true')::int AS matched, count(*)::int AS all
       FROM cc.events WHERE type = 'conversion.received.v1'`,
  );
  const { matched, all } = rows[0];
  if (matched === 0 || matched === all) throw new Error(`${matched} of ${all} conversions were matched with a visit`);
  return `${((100 * matched) / all).toFixed(0)} %`;
}
