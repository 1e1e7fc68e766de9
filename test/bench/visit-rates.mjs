// What the tag's calls cost, and what it costs a conversion to find the visit that brought it.
import { join } from 'node:path';
import { ratioRow, variantColumns } from './figures.mjs';
import { BODY } from './generator.mjs';
import { withClient } from './postgres.mjs';
import { interleave, takeDown } from './rounds.mjs';
import { startService } from './service.mjs';
import { httpVariant, inboundTarget, startEcho } from './variants.mjs';

const CONNECTIONS = 256;
/** So many people are known, each with a visit and two clicks. */
const KNOWN = 50_000;
const NOBODY = BODY.replace('@Example.com', '@Nobody.example');

const UUID = '5f0c7c1e-8f0a-4a5e-9d3b-0c9a4b1d2e3f';
/** As a browser of the demo site sends it. */
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

export async function visitRateRows(context) {
  const { settings, directory, progress } = context;
  progress('starting the service and the echo …');
  // One address calls for all of them here.
  const service = await startService(join(directory, 'visits'), { COLLECT_RATE: '100000', COLLECT_BURST: '1000000' });
  const echo = await startEcho();
  progress(`${KNOWN.toLocaleString('en-US')} people with a visit …`);
  await withClient(service.server, seed);
  const http = (id, target) => httpVariant(id, target, CONNECTIONS, context);
  const conversions = { ...inboundTarget(service), users: KNOWN };
  const variants = [
    http('echo', echo),
    http('known', { ...conversions, body: BODY }),
    http('nobody', { ...conversions, body: NOBODY }),
    http('collect', { ...service, path: '/__cc/collect', expect: '204', headers: HEADERS, body: LANDING }),
  ];
  const warm = (text) => progress(text.replace('round 1/1', 'warming up'));
  await interleave(variants, 1, warm);
  const result = await interleave(variants, settings.rounds, progress);
  takeDown(result, context);
  const of = (id) => result.samples[id] ?? [];
  const row = (what, own, other, target) => ratioRow(what, own, other, { target, columns: variantColumns(own) });
  return [
    { what: `(a) raw node:http echo, ${CONNECTIONS} connections`, figure: '1.00', ...variantColumns(of('echo')) },
    row('(b) inbound, somebody nobody knows: to the echo', of('nobody'), of('echo')),
    row('(b) inbound, somebody with a visit: to one nobody knows', of('known'), of('nobody'), { atLeast: 0.9 }),
    row('/__cc/collect, a landing with a click: to the echo', of('collect'), of('echo'), { atLeast: 0.4 }),
    { what: 'conversions joined to a visit', figure: await withClient(service.server, joined) },
  ];
}

/** The rows that as many identifications would have left; how they come about is not what is measured here. */
async function seed(client) {
  const value = (json) => `'${JSON.stringify(json)}'`;
  const visit = {
    visitorId: UUID,
    pageUrl: 'http://localhost/',
    ip: '203.0.113.7',
    userAgent: 'Mozilla/5.0',
    cookies: { _fbp: 'fb.1.1.1' },
  };
  await client.query(
    `INSERT INTO cc.identifiers (site, subject, kind, at, position, value)
     SELECT 'localhost', sha256(convert_to('user' || n || '@example.com', 'UTF8')), k.kind, now(), 0, k.value::json
       FROM generate_series(1, ${KNOWN}) n CROSS JOIN (VALUES ('visit', ${value(visit)}),
         ('bot', ${value({ score: 0, reasons: [], list: 'bench' })}),
         ('gclid', ${value({ id: 'Cj0KCQ' })}), ('fbclid', ${value({ id: 'IwAR' })}),
         ('last', ${value({ utm: { source: 'google' } })})) AS k (kind, value)`,
  );
  await client.query('VACUUM ANALYZE cc.identifiers');
}

/** Both must have happened, or the ratio compares a thing with itself. */
async function joined(client) {
  const { rows } = await client.query(
    `SELECT count(*) FILTER (WHERE data->>'matched' = 'true')::int AS matched, count(*)::int AS all
       FROM cc.events WHERE type = 'conversion.received.v1'`,
  );
  const { matched, all } = rows[0];
  if (matched === 0 || matched === all) throw new Error(`${matched} of ${all} conversions were joined to a visit`);
  return `${((100 * matched) / all).toFixed(0)} %`;
}
