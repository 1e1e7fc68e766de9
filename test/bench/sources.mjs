// The sources part: the CPU of a delivery of each source, compared with the same conversion posted to inbound.
import { execFile } from 'node:child_process';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fixtureNames, readFixture, renumbered } from '../../dist/sources/fixtures.js';
import { applyMapping } from '../../dist/sources/mapping/apply.js';
import { compileMapping } from '../../dist/sources/mapping/compile.js';
import { sentValues } from '../../dist/sources/mapping/delivery-values.js';
import { SOURCES } from '../../dist/sources/sources.js';
import { cpuSeconds, treeCpuSeconds } from './counters.mjs';
import { ratioRow, variantColumns } from './figures.mjs';
import { serverVersion } from './postgres.mjs';
import { ROOT, startService } from './service.mjs';

const SECRET = 'whsec_of_the_benchmark';
const CONNECTIONS = 16;
const TARGET = { atMost: 1.5 };
/** The documented delivery that becomes a purchase. */
const FIXTURES = { shopify: 'orders-paid', segment: 'order-completed', woocommerce: 'order.created' };

export async function sourcesRun(context) {
  const { directory, progress, part, cleanUp } = context;
  progress('starting the service …');
  const started = await part('the service', () => start(join(directory, 'service')));
  if (!started) return [];
  const { service, sources } = started;
  cleanUp.push(() => service.stop());
  context.postgresVersion = await serverVersion(service.server);
  return (await part('the rounds', () => rounds(service, sources, context))) ?? [];
}

async function start(dataDir) {
  const service = await startService(dataDir);
  const sources = [];
  for (const source of SOURCES) {
    const command = `sources connect ${source.name} --site localhost --set secret=${SECRET} --json`.split(' ');
    const env = { ...process.env, DATA_DIR: dataDir };
    const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'dist/cli.js'), ...command], { env });
    const fixture = readFixture(source.name, FIXTURES[source.name] ?? fixtureNames(source.name)[0]);
    const topic = compileMapping(source.mapping).get(fixture.topic);
    sources.push({ source, fixture, topic, path: new URL(JSON.parse(stdout).url).pathname });
  }
  return { service, sources };
}

async function rounds(service, sources, context) {
  const { settings, progress } = context;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const variants = sources.map((each) => ({ ...each, delivered: [], posted: [] }));
  let number = 1_000_000_000;
  // The first round warms up.
  for (let round = 0; round <= settings.rounds; round += 1) {
    progress(`round ${round} of ${settings.rounds} …`);
    for (const variant of variants) {
      const kinds = round % 2 === 0 ? ['delivered', 'posted'] : ['posted', 'delivered'];
      for (const kind of kinds) {
        const requests = Array.from({ length: settings.deliveries }, () => {
          number += 1;
          return kind === 'delivered' ? delivery(variant, number) : posted(variant, number, service.key);
        });
        const sample = await send(service, agent, requests);
        if (round > 0) variant[kind].push(sample);
      }
    }
  }
  agent.destroy();
  return variants.flatMap(({ source, delivered, posted }) => [
    { what: `conversion of ${source.label}, posted to inbound`, ...variantColumns(posted) },
    ratioRow(`↳ as a delivery, CPU`, delivered, posted, {
      by: 'cpu',
      target: TARGET,
      columns: variantColumns(delivered),
    }),
  ]);
}

function delivery(variant, number) {
  const { source, fixture, path } = variant;
  const body = Buffer.from(renumbered(fixture, number));
  return { path, body, headers: source.sign(fixture.topic, body, SECRET, Date.now(), `delivery-${number}`) };
}

/** Every field that the mapping finds, so that the same is stored. */
function posted(variant, number, key) {
  const raw = Buffer.from(renumbered(variant.fixture, number));
  const { body } = applyMapping(variant.topic, sentValues(JSON.parse(raw), raw));
  return { path: '/__cc/inbound', body: Buffer.from(JSON.stringify(body)), headers: { 'X-CC-Api-Key': key } };
}

async function send({ port, pid, server }, agent, requests) {
  const cpu = () => ({ server: cpuSeconds(pid), postgres: treeCpuSeconds(server.postmaster) });
  let next = 0;
  let errors = 0;
  const before = cpu();
  const startedMs = performance.now();
  const worker = async () => {
    while (next < requests.length) {
      const status = await sendOne(port, agent, requests[next++]);
      if (status !== 200) errors += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  const after = cpu();
  const microseconds = (part) => ((after[part] - before[part]) / requests.length) * 1e6;
  return {
    rate: requests.length / ((performance.now() - startedMs) / 1_000),
    cpuServer: microseconds('server'),
    cpuPostgres: microseconds('postgres'),
    errors,
  };
}

function sendOne(port, agent, { path, body, headers }) {
  return new Promise((resolve, reject) => {
    const all = { Host: 'localhost', 'Content-Type': 'application/json', 'Content-Length': body.length, ...headers };
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers: all }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
