// The outbound part: the cost of closing a reporting window in a small and in a large log, and the duration of one tick's
// pushes for many sites. Runs the product's classes in this process, on temporary PostgreSQL servers.
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Sealer } from '../../dist/kernel/sealing.js';
import { readSettings } from '../../dist/kernel/settings/settings.js';
import { PostgresEventLog } from '../../dist/log/postgres-event-log.js';
import { OutboundSync } from '../../dist/outbound/outbound-sync.js';
import { pushNow } from '../../dist/outbound/push-now.js';
import { openHttpClient, Pusher, pusherOptions } from '../../dist/outbound/pusher.js';
import { Postgres } from '../../dist/postgres/postgres.js';
import { AddSite } from '../../dist/sites/site.commands.js';
import { siteCommandDispatcher } from '../../dist/sites/site-command-handlers.js';
import { SiteDirectory } from '../../dist/sites/site-directory.js';
import { SiteRepository } from '../../dist/sites/site-repository.js';
import { SiteSecrets } from '../../dist/sites/site-secrets.js';
import { SetWebhook } from '../../dist/sites/webhook.commands.js';
import { median, meets, ratios, singleRow, spread } from './figures.mjs';
import { fillLog } from './fill-log.mjs';
import { databaseUrl, serverVersion, startTemporaryServer } from './postgres.mjs';

/** The site of the events that `fillLog` adds. */
const FILLED_SITE = 'localhost';
const SMALL_EVENTS = 100_000;
const WINDOW_EVENTS = 1_000;
const SITES = 1_000;
const TICK_MS = 900_000;
const RECEIVER_MS = 50;
/** All sites one after the other would take a minute. This many give the time per push as well. */
const SEQUENTIAL_SITES = 100;
const thousands = (count) => count.toLocaleString('en-US');

export async function outboundRun(context) {
  const { part, settings } = context;
  const small = await part('the small log', () => openLog(join(context.directory, 'small'), SMALL_EVENTS, context));
  const large = await part('the large log', () => openLog(join(context.directory, 'large'), settings.events, context));
  if (!small || !large) return [];
  context.postgresVersion = await serverVersion(small.server);
  const closing = (await part('closing', () => closingRows(small, large, context))) ?? [];
  const pushing = (await part('pushing', () => pushingRows(small, context))) ?? [];
  for (const { log, postgres } of [small, large]) {
    await log.close();
    await postgres.close();
  }
  return [...closing, ...pushing];
}

async function openLog(dataDir, events, { progress, cleanUp }) {
  const server = await startTemporaryServer(dataDir);
  cleanUp.push(server.stop);
  const postgres = await Postgres.open({ databaseUrl: databaseUrl(server, 'postgres'), dataDir, onMessage: () => {} });
  const owner = await postgres.connectAsOwner('bench');
  await fillLog(owner, { events, claims: 0 }, (done) =>
    progress(`filling: ${thousands(done)} of ${thousands(events)} …`),
  );
  await owner.end();
  return { server, postgres, log: new PostgresEventLog(postgres) };
}

/** Alternates between the two logs, so that other load on the machine affects both. */
async function closingRows(small, large, { settings, progress }) {
  const sides = { small: await closer(small), large: await closer(large) };
  const samples = { small: [], large: [] };
  for (let round = -1; round < settings.rounds * 4; round += 1) {
    progress(`closing reporting windows, round ${round + 1} …`);
    for (const name of ['small', 'large']) {
      const ms = await sides[name]();
      if (round >= 0) samples[name].push({ ms });
    }
  }
  const figure = (what, name) => ({ what, unit: 'ms', value: spread(samples[name].map(({ ms }) => ms)) });
  // The ratio of the medians rather than per round: single commits on either side wait for the disk.
  const ratio = median(samples.large.map(({ ms }) => ms)) / median(samples.small.map(({ ms }) => ms));
  const all = spread(ratios(samples.large, samples.small, ({ ms }) => ms));
  const closing = `closing a reporting window of ${thousands(WINDOW_EVENTS)} conversions`;
  return [
    figure(`${closing}, log of ${thousands(SMALL_EVENTS)} events`, 'small'),
    figure(`${closing}, log of ${thousands(settings.events)} events`, 'large'),
    {
      what: '↳ large log: ratio to the small one',
      unit: 'ratio',
      value: { ...all, median: ratio },
      target: { atMost: 1.2 },
      met: meets(ratio, { atMost: 1.2 }),
    },
  ];
}

/** Times counting and appending for a reporting window. Appending its conversions is not measured. */
async function closer({ log, postgres }) {
  const pusher = new Pusher(log, undefined, undefined, { now: Date.now, actor: 'system' });
  const webhook = { first: { position: await log.head(), time: new Date().toISOString() }, position: 0 };
  let end;
  await postgres.pool.query('SELECT 1');
  return async () => {
    await appendConversions(log, FILLED_SITE, WINDOW_EVENTS);
    const began = performance.now();
    const closed = await pusher.close({ site: FILLED_SITE, webhook }, end);
    const ms = performance.now() - began;
    if (closed.data.body.conversions !== WINDOW_EVENTS)
      throw new Error(`unexpected totals: ${JSON.stringify(closed.data.body)}`);
    end = { ...closed, type: 'outbound.delivered.v1' };
    return ms;
  };
}

function appendConversions(log, site, count) {
  const append = () =>
    log.append({
      ...{ category: 'conversion', stream: randomUUID(), expected: 'new', site, actor: 'system' },
      events: [{ type: 'conversion.received.v1', data: { trial: false, event: 'purchase', value: 129.9 } }],
    });
  return Promise.all(Array.from({ length: count }, append));
}

async function pushingRows({ log, postgres }, { progress }) {
  const receiver = await startReceiver();
  try {
    progress(`setting ${thousands(SITES)} webhooks …`);
    const { hosts, sites, commands, secrets } = await openSites(log, postgres, receiver.url);
    const settings = readSettings({ OUTBOUND_ALLOW_PRIVATE: 'true' });
    const clock = { offsetMs: 0 };
    const now = () => Date.now() + clock.offsetMs;
    const pusher = new Pusher(log, commands, openHttpClient(settings), { ...pusherOptions(settings, 'system'), now });
    progress('pushing one site after the other …');
    const each = await pushSequentially(postgres, secrets, sites, pusher, hosts.slice(0, SEQUENTIAL_SITES));
    receiver.calls = 0;
    // Moves the clock so that all sites are due.
    clock.offsetMs = TICK_MS;
    progress('pushing all sites …');
    const all = await pushInOneTick(log, postgres, secrets, pusher, receiver);
    await pusher.end();
    const sequential = (each * SITES) / 1_000;
    return [
      singleRow(`pushes of ${thousands(SITES)} sites at one tick, receiver answers after ${RECEIVER_MS} ms`, all, 's'),
      singleRow(`sequential pushes (extrapolated from ${SEQUENTIAL_SITES})`, sequential, 's'),
      singleRow('↳ speed-up', sequential / all, 'ratio', { atLeast: 10 }),
    ];
  } finally {
    await receiver.stop();
  }
}

async function openSites(log, postgres, url) {
  const secrets = new SiteSecrets(postgres.pool, new Sealer(randomBytes(32)));
  const sites = new SiteRepository(log);
  const commands = siteCommandDispatcher(sites, secrets);
  const hosts = Array.from({ length: SITES }, (_, number) => `shop-${number}.example`);
  for (const host of hosts) {
    await commands.execute(new AddSite('cli', host));
    await commands.execute(new SetWebhook('cli', host, { url: `${url}/${host}`, allowPrivate: true }));
  }
  return { hosts, sites, commands, secrets };
}

/** @returns milliseconds per push */
async function pushSequentially(postgres, secrets, sites, pusher, hosts) {
  const all = new Map((await sites.all()).map((site) => [site.host, site.webhook]));
  const began = performance.now();
  for (const host of hosts) {
    const receiver = { site: host, webhook: all.get(host), secrets: await secrets.connectionSecrets(host, 'outbound') };
    const pushed = await pushNow(postgres.pool, pusher, receiver, 10_000);
    if (pushed.type !== 'outbound.delivered.v1') throw new Error(JSON.stringify(pushed.data));
  }
  return (performance.now() - began) / hosts.length;
}

/** Pushes as the service does. @returns seconds until the last outcome is in the log */
async function pushInOneTick(log, postgres, secrets, pusher, receiver) {
  const directory = new SiteDirectory(log, secrets, {
    authFailureLimit: 20,
    authFailureWindowMs: 900_000,
    instance: 'bench',
  });
  await directory.start();
  const sync = new OutboundSync(postgres.pool, directory, secrets, pusher, {
    everyMs: TICK_MS,
    timeoutMs: 10_000,
    onError: (site, error) => {
      throw new Error(`${site}: ${error}`);
    },
  });
  const began = performance.now();
  while (receiver.calls < SITES) {
    await sync.check();
    await sync.settled();
  }
  const seconds = (performance.now() - began) / 1_000;
  const failed = await log.read({ types: ['outbound.failed.v1'] });
  const reasons = [...new Set(failed.map(({ data }) => data.reason))].join(', ');
  if (receiver.calls !== SITES)
    throw new Error(`${receiver.calls} calls instead of ${SITES}: ${failed.length} failed, ${reasons}`);
  return seconds;
}

async function startReceiver() {
  const server = createServer((request, response) => {
    request.resume();
    receiver.calls += 1;
    setTimeout(() => response.end(), RECEIVER_MS);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const stop = () =>
    new Promise((stopped) => {
      server.close(stopped);
      server.closeAllConnections();
    });
  const receiver = { url: `http://127.0.0.1:${server.address().port}`, calls: 0, stop };
  return receiver;
}
