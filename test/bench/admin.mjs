// The admin part: how much requests of the dashboard slow inbound down on the same machine.
import { join } from 'node:path';
import { ratioRow, variantColumns } from './figures.mjs';
import { serverVersion } from './postgres.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { freePort, startService } from './service.mjs';
import { fillInbound, httpVariant, inboundTarget } from './variants.mjs';

const CONNECTIONS = 64;
const REQUESTS_PER_SECOND = 20;
const LISTENING_WITHIN_MS = 60_000;
const USER = { email: 'ada@shop.example', password: 'correct horse battery staple' };
const SITE = 'sites/localhost';

/** What the pages of the dashboard read, in turn. */
const READS = [
  `${SITE}/totals`,
  `${SITE}/series?interval=hour`,
  `${SITE}/sources`,
  `${SITE}/match-quality`,
  `${SITE}/unused-fields`,
  `${SITE}/attention`,
  `${SITE}/events?limit=50`,
  `${SITE}/conversions?limit=50`,
  `${SITE}/sync-log?limit=50`,
  `${SITE}/conversions?order=ORD-1`,
  `${SITE}/connections`,
  `${SITE}/audit?limit=50`,
];
/**
 * Every so many requests one is a sign-in, which hashes a password, and one starts an export of the newest conversions. People who look
 * at pages sign in and export once for hundreds of requests. The other mixture shows what sign-ins and exports cost: one sign-in each
 * second, and each conversion exported about twice.
 */
const PAGES = { id: 'the dashboard', signInEvery: 200, exportEvery: 200 };
const COSTLY = { id: 'sign-ins and exports', signInEvery: 20, exportEvery: 50 };
const EXPORTED_MS = 5_000;

export async function adminRun(context) {
  const { directory, settings, progress, part, cleanUp } = context;
  progress('starting the service …');
  const started = await part('the service', () => startWithDashboard(join(directory, 'service')));
  if (!started) return [];
  const { service, dashboard } = started;
  cleanUp.push(() => service.stop());
  context.postgresVersion = await serverVersion(service.server);
  progress('filling the log …');
  await part('filling the log', () => fillInbound(service, settings.warmUp, context));
  return (await part('the rounds', () => rounds(service, dashboard, context))) ?? [];
}

/** The service with its management API, where that is, and a signed-in user of it. */
export async function startWithDashboard(dataDir) {
  const port = await freePort();
  const admin = { ADMIN_PORT: String(port), ADMIN_EMAIL: USER.email, ADMIN_PASSWORD: USER.password };
  const service = await startService(dataDir, admin);
  const url = `http://localhost:${port}`;
  const dashboard = new Dashboard(`${url}/api/v1`);
  await dashboard.open();
  return { service, url, dashboard };
}

async function rounds(service, dashboard, context) {
  const { settings, progress } = context;
  const inbound = (id) => httpVariant(id, inboundTarget(service), CONNECTIONS, context);
  const alone = inbound('inbound');
  const [shared, costly] = [PAGES, COSTLY].map((mixture) => {
    const { id, run } = inbound(`inbound with ${mixture.id}`);
    return { id, run: () => dashboard.during(mixture, run) };
  });
  const result = await interleave([alone, shared, costly], settings.rounds, progress);
  recordRounds(result, context);
  const of = ({ id }) => result.samples[id] ?? [];
  const what = `inbound with ${REQUESTS_PER_SECOND} requests of the dashboard a second`;
  const shares = ({ signInEvery, exportEvery }) => `one of ${signInEvery} a sign-in, one of ${exportEvery} an export`;
  context.facts.push(`${dashboard.answered} requests of the dashboard, ${shares(PAGES)}; with many: ${shares(COSTLY)}`);
  return [
    { what: `inbound, ${CONNECTIONS} connections`, figure: '1.00', ...variantColumns(of(alone)) },
    ratioRow(`${what}: ratio to inbound`, of(shared), of(alone), {
      target: { atLeast: 0.85 },
      columns: variantColumns(of(shared)),
    }),
    ratioRow('↳ p99: ratio to inbound', of(shared), of(alone), { by: 'p99', target: { atMost: 2 } }),
    ratioRow(`${what}, many of them sign-ins and exports`, of(costly), of(alone), {
      columns: variantColumns(of(costly)),
    }),
  ];
}

class Dashboard {
  answered = 0;
  sent = 0;
  isSigningIn = false;

  constructor(url) {
    this.url = url;
  }

  /** Waits until the management API has its user, and signs in. Not by signing in again and again, which is throttled. */
  async open() {
    const deadline = performance.now() + LISTENING_WITHIN_MS;
    while (!(await this.hasUsers())) {
      if (performance.now() > deadline) throw new Error('the management API has no user');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    const answer = await this.signIn();
    if (!answer.ok) throw new Error(`a sign-in was answered ${answer.status}`);
    this.cookie = answer.headers.get('set-cookie').split(';', 1)[0];
  }

  async hasUsers() {
    const answer = await fetch(`${this.url}/session/options`).catch(() => undefined);
    return answer?.ok && (await answer.json()).hasUsers;
  }

  /** Sends requests at a fixed rate while `work` runs. A failed one makes the measurement fail. */
  async during(mixture, work) {
    const pending = new Set();
    let failure;
    const timer = setInterval(() => {
      const request = this.next(mixture)
        .catch((error) => {
          failure ??= error;
        })
        .finally(() => pending.delete(request));
      pending.add(request);
    }, 1_000 / REQUESTS_PER_SECOND);
    try {
      const sample = await work();
      await Promise.all(pending);
      if (failure) throw failure;
      return sample;
    } finally {
      clearInterval(timer);
    }
  }

  async next(mixture) {
    this.sent += 1;
    const answer = await this.request(this.sent, mixture);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${answer.url} answered ${answer.status}: ${text}`);
    this.answered += 1;
  }

  request(number, { signInEvery, exportEvery }) {
    if (number % signInEvery === 0 && !this.isSigningIn) return this.signInAlone();
    if (number % exportEvery === 1) {
      const from = new Date(Date.now() - EXPORTED_MS).toISOString();
      return this.post(`${SITE}/jobs`, { kind: 'export', format: 'csv', types: ['conversion.received.v1'], from });
    }
    return fetch(`${this.url}/${READS[number % READS.length]}`, { headers: { cookie: this.cookie } });
  }

  async signInAlone() {
    this.isSigningIn = true;
    try {
      return await this.signIn();
    } finally {
      this.isSigningIn = false;
    }
  }

  signIn() {
    return this.post('session', USER);
  }

  post(path, body) {
    return fetch(`${this.url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-cc-csrf': '1', cookie: this.cookie ?? '' },
      body: JSON.stringify(body),
    });
  }
}
