// What the pictures of the dashboard show: a shop with visits from campaigns, conversions, and two weeks of earlier numbers.
import { createHash, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { readFixture, renumbered } from '../../dist/sources/fixtures.js';
import { findSource } from '../../dist/sources/sources.js';
import { findServer, withClient } from '../bench/postgres.mjs';

export const SHOP = 'shop.example';
/** Platforms of the shop. The others of the installation stay unconnected. */
const PLATFORMS = ['google_ads', 'meta', 'tiktok', 'microsoft_ads', 'ga4'];
const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
/** Source, medium, campaign and click of the visits of customers; the others come without a known visit. */
const VISITS = [
  ['google', 'cpc', 'spring-sale', 'gclid'],
  ['google', 'cpc', 'spring-sale', 'gclid'],
  ['google', 'cpc', 'brand', 'gclid'],
  ['meta', 'paid_social', 'retargeting', 'fbclid'],
  ['meta', 'paid_social', 'prospecting', 'fbclid'],
  ['tiktok', 'spark', 'launch', 'ttclid'],
  ['newsletter', 'email', 'november', undefined],
];
const CUSTOMERS = 10;
/** Conversions whose numbers the earlier hours have multiples of. */
const SAMPLES = 14;
const LATEST = 40;

/**
 * @param call a function that calls the management API
 * @returns the ids of the newest conversions
 */
export async function fillShop(call, { port, dataDir }) {
  const key = await setUp(call);
  const shop = { port, key };
  for (let customer = 0; customer < VISITS.length; customer += 1) await sendVisit(shop, customer);
  await sendConversions(shop, 1, SAMPLES);
  await untilCounted(call);
  await withClient(findServer(dataDir), multiplySamples);
  await call('POST', `/sites/${SHOP}/connections/tiktok/pause`);
  await sendDeliveries(call, shop);
  for (const customer of [8, 9]) await call('POST', `/sites/${SHOP}/erasures`, { email: emailOf(customer) });
  return sendConversions(shop, SAMPLES + 1, LATEST);
}

/** What a team has set up after its first days. @returns a key */
async function setUp(call) {
  const site = `/sites/${SHOP}`;
  await call('POST', '/sites', { host: SHOP });
  await call('PUT', `${site}/inbound`, { enabled: true });
  const { key } = await (await call('POST', `${site}/keys`, { name: 'Shop backend' })).json();
  await call('POST', `${site}/keys`, { name: 'CRM' });
  for (const platform of PLATFORMS) await call('POST', `${site}/connections/${platform}/sandbox`);
  await call('PATCH', `${site}/settings`, {
    ...{ blockCountries: { add: ['AQ'] }, blockIps: { add: ['203.0.113.0/24'] }, dedupWindow: '2h' },
    ...{ botMode: 'enforce', blockDisposable: true, country: 'DE' },
  });
  await call('PATCH', `${site}/aliases`, { add: ['www.shop.example'] });
  await call('POST', '/users', { email: 'grace@shop.example', role: 'analyst', sites: [SHOP] });
  await call('POST', '/users', { email: 'linus@shop.example', role: 'operator' });
  await call('POST', '/tokens', { name: 'Reporting', scopes: ['read'] });
  return key;
}

async function sendVisit(shop, customer) {
  const [source, medium, campaign, click] = VISITS[customer];
  const visit = {
    ...{ v: 1, visitor: randomUUID(), visit: randomUUID(), hash: hashOf(emailOf(customer)), cookies: {} },
    utm: { source, medium, campaign },
    clicks: click ? { [click]: { id: `Cj0KCQ-${customer}`, t: Date.now() - (customer + 3) * 5_400_000 } } : {},
    consent: { ad_storage: 'granted', ad_user_data: 'granted' },
    signals: {},
  };
  await post(shop, '/__cc/identify', visit, { 'User-Agent': BROWSER, Origin: `https://${SHOP}` });
}

async function sendDeliveries(call, shop) {
  const secret = 'the signing secret';
  const path = `/sites/${SHOP}/inbound-sources/shopify`;
  const { url } = await (await call('PUT', path, { secret })).json();
  const source = findSource('shopify');
  for (const [number, name] of ['orders-paid', 'orders-create', 'refunds-create', 'orders-paid'].entries()) {
    const fixture = readFixture('shopify', name);
    // The documented orders are years old.
    const now = new Date().toISOString();
    const body = JSON.parse(renumbered(fixture, 5_000_001 + number), (name, value) =>
      /^(created|processed|updated)_at$/.test(name) ? now : value,
    );
    const headers = source.sign(fixture.topic, Buffer.from(JSON.stringify(body)), secret, Date.now(), randomUUID());
    await post(shop, new URL(url).pathname, body, headers);
  }
  await call('POST', `${path}/trial`, { fixture: 'orders-paid' });
}

async function sendConversions(shop, first, count) {
  const ids = [];
  for (let number = first; number < first + count; number += 1) {
    const headers = await post(shop, '/__cc/inbound', conversion(number), { 'X-CC-Api-Key': shop.key });
    if (headers['x-cc-conversion-id']) ids.push(headers['x-cc-conversion-id']);
  }
  return ids;
}

/** Some are sent twice, as shops do, and some come from disposable addresses. */
function conversion(number) {
  const order = number % 13 === 0 ? number - 1 : number;
  const isDisposable = number % 14 === 0;
  return {
    email: isDisposable ? `someone${number}@mailinator.com` : emailOf(order % CUSTOMERS),
    event: order % 5 === 0 ? 'lead' : 'purchase',
    value: 40 + ((order * 37) % 160) + 0.9,
    currency: order % 7 === 0 ? 'USD' : 'EUR',
    orderId: `ORD-${48_000 + order}`,
    ...(order % 2 === 0 && { phone: '+4930123456' }),
    ...(order % 4 === 0 && { source: 'phone_call' }),
  };
}

function emailOf(customer) {
  return `customer${customer}@example.com`;
}

function hashOf(email) {
  return createHash('sha256').update(email).digest('hex');
}

/** With the host of the shop, whose name leads nowhere. @returns the headers of the answer */
function post({ port }, path, body, headers) {
  return new Promise((resolve, reject) => {
    const options = {
      port,
      path,
      method: 'POST',
      headers: { Host: SHOP, 'Content-Type': 'application/json', ...headers },
    };
    const sent = request({ host: 'localhost', ...options }, (answer) => {
      answer.resume();
      if (answer.statusCode >= 300) reject(new Error(`${path} was answered ${answer.statusCode}`));
      else resolve(answer.headers);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

/** Until the numbers of the samples are known, and what was sent to platforms is settled. */
async function untilCounted(call) {
  for (let attempt = 0; attempt < 240; attempt += 1) {
    const { conversions, duplicates, filtered } = await (await call('GET', `/sites/${SHOP}/totals`)).json();
    const { items } = await (await call('GET', `/sites/${SHOP}/deliveries/waiting`)).json();
    if (conversions + duplicates + filtered >= SAMPLES && items.every(({ queued }) => queued === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('The conversions were not counted.');
}

/** Each hour of the last 15 days has a multiple of the samples: more by day than by night, less on Sundays. */
const HOURS = `hours AS (
  SELECT hour AS quarter, greatest(0, round(weekday * (15 - 12.5 * cos((extract(hour FROM hour) - 3) * pi() / 12)) + noise))::int AS times
    FROM generate_series(date_trunc('hour', now()) - interval '15 days', date_trunc('hour', now()) - interval '1 hour', '1 hour') hour,
         LATERAL (SELECT CASE extract(isodow FROM hour) WHEN 7 THEN 0.6 WHEN 6 THEN 0.8 ELSE 1 END AS weekday,
                         2.5 * sin(extract(epoch FROM hour) / 9973) AS noise) AS day)`;

async function multiplySamples(client) {
  const multiply = (table, keys, sums, time = 'quarter') =>
    client.query(
      `WITH ${HOURS}, samples AS (
         SELECT ${keys.join(', ')}, ${sums.map((sum) => `sum(${sum}) AS ${sum}`).join(', ')}
           FROM cc.${table} WHERE site = $1 GROUP BY ${keys.join(', ')})
       INSERT INTO cc.${table} (${time}, ${[...keys, ...sums].join(', ')})
       SELECT quarter, ${[...keys, ...sums.map((sum) => `${sum} * times`)].join(', ')} FROM samples, hours WHERE times > 0`,
      [SHOP],
    );
  await multiply('totals', ['site'], ['conversions', 'bot_traffic_removed'], 'minute');
  await multiply(
    'conversion_statistics',
    ['site', 'currency'],
    ['conversions', 'value', 'matched', 'duplicates', 'changed_duplicates', 'filtered'],
  );
  await multiply(
    'delivery_statistics',
    ['site', 'platform'],
    ['delivered', 'accepted', 'confirmed', 'rejected', 'failed', 'skipped', 'expired'],
  );
  await multiply('event_statistics', ['site', 'event'], ['conversions']);
  await multiply(
    'attributions',
    ['site', 'part', 'other', 'source', 'medium', 'campaign', 'click', 'matched', 'currency'],
    ['conversions', 'value'],
  );
  await client.query(
    `WITH ${HOURS}, samples AS (
       SELECT site, platforms, carried, conversions FROM cc.identifier_statistics WHERE site = $1)
     INSERT INTO cc.identifier_statistics (quarter, site, platforms, conversions, carried)
     SELECT quarter, site, platforms, sum(conversions) * times,
            (SELECT array_agg(total * times ORDER BY at) FROM (
               SELECT at, sum(count) AS total FROM samples AS same, unnest(same.carried) WITH ORDINALITY AS each (count, at)
                WHERE same.platforms = samples.platforms GROUP BY at) AS sums)
       FROM samples, hours WHERE times > 0 GROUP BY quarter, site, platforms, times`,
    [SHOP],
  );
  // Google Ads confirms what it accepted after half an hour.
  await client.query(
    `INSERT INTO cc.delivery_statistics
     SELECT site, quarter, 'google_ads', 0, 0, delivered, 0, 0, skipped, 0 FROM cc.delivery_statistics
      WHERE site = $1 AND platform = 'meta' AND quarter < now() - interval '1 hour'
     ON CONFLICT (site, quarter, platform) DO UPDATE SET confirmed = excluded.confirmed`,
    [SHOP],
  );
  // For some hours two days ago a platform refused a part of what it got.
  await client.query(
    `UPDATE cc.delivery_statistics SET failed = delivered / 4, delivered = delivered - delivered / 4
      WHERE site = $1 AND platform = 'microsoft_ads' AND quarter BETWEEN now() - interval '52 hours' AND now() - interval '44 hours'`,
    [SHOP],
  );
}
