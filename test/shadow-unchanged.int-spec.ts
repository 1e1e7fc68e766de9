import { hash, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { allProjections } from '../src/app/projections.js';
import { ReplayDeliveries } from '../src/delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../src/delivery/replay-deliveries.handler.js';
import { shadowReplay } from '../src/history/shadow/shadow-replay.js';
import { subjectOf } from '../src/kernel/email.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import type { PlatformName } from '../src/platforms/platform.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { DisconnectPlatform, PauseConnection, ResumeConnection } from '../src/sites/connections/connection.commands.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { StateConsent } from '../src/visitors/change-consent.command.js';
import { StateConsentHandler } from '../src/visitors/change-consent.handler.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import { SECRET_KEY } from './support/secret-key.js';
import { post, type TestSite, useService } from './support/service.js';
import { callTag, visitorCookie } from './support/tag-calls.js';
import { eventually } from './support/waiting.js';

const RUNS = 12;
const HOUR_MS = 3_600_000;
const GOOGLE = { customer_id: '1234567890', client_id: 'client', client_secret: 'secret', refresh_token: 'refresh' };
const SETTINGS: Record<string, readonly Record<string, string>[]> = {
  google_ads: [
    { ...GOOGLE, 'event.purchase': '987', refund_event: 'refund' },
    { ...GOOGLE, 'event.purchase': '987', require_click_id: 'yes' },
  ],
  ga4: [{ measurement_id: 'G-ABC1234', api_secret: 'secret', synthetic_client_id: 'yes', refund_event: 'refund' }],
  meta: [
    { pixel_id: '1234567890', access_token: 'a', events: 'purchase,refund' },
    { pixel_id: '1234567890', access_token: 'a', 'event.lead': 'Lead', 'event.refund': 'Refund' },
  ],
};
const PLATFORMS = Object.keys(SETTINGS) as PlatformName[];

const { databaseUrl, operator, service } = await useService(
  { DELIVERY_RETRY_SCHEDULE: '1s', COLLECT_BURST: '10000', TRUSTED_PROXIES: '127.0.0.1' },
  { shorter: { confirmationPollMs: 500 } },
);
const sandbox = await new Sandbox().start();
const { postgres, log } = operator;
const secrets = new SiteSecrets(postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
const erasure = new Erasure(postgres, allProjections(secrets), async () => {});
const settings = readSettings({ DATABASE_URL: databaseUrl, SECRET_KEY });
afterAll(() => sandbox.stop());

const person = fc.nat(2);
const platform = fc.constantFrom(...PLATFORMS);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('post' as const),
      person,
      event: fc.constantFrom('purchase', 'purchase', 'lead', 'refund'),
      order: fc.nat(3),
      /** GA4 accepts 72 hours, Meta seven days. */
      hours: fc.constantFrom(0, 0, 50, 71, 73, 150, 200, 24 * 89, 24 * 91),
      consent: fc.constantFrom(undefined, 'granted', 'denied'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('visit', 'identify', 'optOut', 'erase', 'replay', 'force'),
      person,
      platform,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('pause', 'resume', 'disconnect', 'connect'),
      platform,
      version: fc.nat(1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('behave' as const),
      platform,
      mode: fc.constantFrom('throttle', 'refuse', 'server_error', 'drop', 'unauthorized', 'ok'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('withhold' as const),
      withhold: fc.constantFrom('identifiers', 'personal', 'everything'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Drawn> ? Drawn : never;

class Shop {
  private readonly browsers = Array.from({ length: 3 }, () => ({
    visitor: randomUUID(),
    cookie: undefined as string | undefined,
    clickedMs: Date.now(),
  }));
  private readonly emails: readonly string[];

  constructor(private readonly site: TestSite) {
    this.emails = this.browsers.map((_, index) => `person-${index}@${site.host}`);
  }

  async take(step: Step): Promise<void> {
    const { host } = this.site;
    switch (step.kind) {
      case 'post': {
        const { event, order, hours, consent } = step;
        const occurredAt = hours === 0 ? undefined : new Date(Date.now() - hours * HOUR_MS).toISOString();
        const stated = consent && { ad_user_data: consent, ad_storage: consent };
        const body = { event, value: 10, currency: 'EUR', orderId: `ORD-${order}`, occurredAt, consent: stated };
        const headers = { 'X-Forwarded-Proto': 'https' };
        const reply = await post(service, this.site, { ...body, email: this.emails[step.person] }, { headers });
        expect(JSON.parse(reply.body)).toMatchObject({ ok: true });
        return;
      }
      case 'visit':
        return this.tag('collect', step.person, {});
      case 'identify':
        return this.tag('identify', step.person, { hash: hash('sha256', this.emails[step.person] as string) });
      case 'optOut': {
        const command = new StateConsent('cli', host, subjectOf(this.emails[step.person] as string), 'denied');
        await new StateConsentHandler(log).execute(command);
        return;
      }
      case 'erase':
        await erasure.erase('cli', host, hash('sha256', this.emails[step.person] as string));
        return;
      case 'replay':
      case 'force': {
        const { connections } = await new SiteRepository(log).get(host);
        const connection = connections.find(({ platform }) => platform === step.platform);
        if (!connection || connection.disconnected) return;
        const request = {
          ...{ site: host, platform: step.platform, siteVersion: connection.version, nowMs: Date.now(), dryRun: false },
          ...{ statuses: ['failed', 'skipped', 'queued', 'not_connected'] as const, force: step.kind === 'force' },
          range: { after: 0, until: await log.head() },
        };
        await new ReplayDeliveriesHandler(log).execute(new ReplayDeliveries('cli', request));
        return;
      }
      case 'pause':
        await operator.execute(new PauseConnection('cli', host, step.platform)).catch(() => {});
        return service.refreshSites();
      case 'resume':
        await operator.execute(new ResumeConnection('cli', host, step.platform)).catch(() => {});
        return service.refreshSites();
      case 'disconnect':
        await operator.execute(new DisconnectPlatform('cli', host, step.platform)).catch(() => {});
        return service.refreshSites();
      case 'connect':
        return this.connect(step.platform, step.version);
      case 'behave': {
        const body = JSON.stringify({ platform: step.platform, tenant: host, mode: step.mode, times: 2 });
        await fetch(`${sandbox.url}/behave`, { method: 'POST', body });
        return;
      }
      case 'withhold':
        await operator.set(host, 'withhold', step.withhold);
        return service.refreshSites();
      case 'wait':
        await new Promise((resolve) => setTimeout(resolve, 1_300));
        return;
    }
  }

  async connect(platform: PlatformName, version: number): Promise<void> {
    const versions = SETTINGS[platform] as readonly Record<string, string>[];
    const set = versions[version % versions.length] as Record<string, string>;
    await operator.connect(this.site.host, platform, set, `${sandbox.url}/${platform}@${this.site.host}`);
    await service.refreshSites();
  }

  private async tag(call: string, person: number, fields: object): Promise<void> {
    const browser = this.browsers[person] as (typeof this.browsers)[number];
    const message = { visitor: browser.visitor, clicks: { gclid: { id: 'Gclid-1', t: browser.clickedMs } }, ...fields };
    const reply = await callTag(service, this.site, call, message, { headers: { Cookie: browser.cookie } });
    browser.cookie ??= visitorCookie(reply);
  }
}

async function shadow(host: string, windowMs: number) {
  const client = await postgres.connect('shadow');
  const request = {
    ...{ site: await new SiteRepository(log).get(host), rules: { settings: {} }, after: 0, until: await log.head() },
    ...{ dedupSecret: await secrets.dedupSecret(host), defaultWindowMs: windowMs, giveUpMs: settings.deliveryGiveUpMs },
  };
  return shadowReplay(log, client, request).finally(() => client.end());
}

it('a shadow replay with the rules of the log finds no difference, whatever was received, changed and refused', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 24 }), async (steps) => {
    const site = await operator.openSite();
    const shop = new Shop(site);
    for (const platform of PLATFORMS) await shop.connect(platform, 0);
    for (const step of steps) await shop.take(step);
    const { conversions, platforms } = await shadow(site.host, settings.dedupWindowMs);
    expect(conversions.changes).toEqual([]);
    for (const [name, { changes, payloadsChanged }] of Object.entries(platforms))
      expect([name, changes, payloadsChanged]).toEqual([name, [], 0]);
  });
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
});

it('a shadow replay finds that an order was too old for one platform', async () => {
  const site = await operator.openSite();
  const shop = new Shop(site);
  for (const platform of PLATFORMS) await shop.connect(platform, 0);
  const days = 6 * 24;
  await shop.take({ kind: 'post', person: 0, event: 'purchase', order: 1, hours: days, consent: undefined } as Step);
  const skipped = async () => (await operator.conversions(site.host)).filter(({ type }) => type.includes('skipped'));
  await eventually(async () => (await skipped()).length, 1);
  expect((await shadow(site.host, settings.dedupWindowMs)).platforms).toMatchObject({
    ga4: { was: { 'skipped: too_old': 1 }, would: { 'skipped: too_old': 1 }, changes: [] },
    meta: { was: { sent: 1 }, would: { sent: 1 }, changes: [], payloadsChanged: 0 },
  });
});
