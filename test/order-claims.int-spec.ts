import { hash, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { allProjections } from '../src/app/projections.js';
import { Sealer } from '../src/kernel/sealing.js';
import type { PlatformName } from '../src/platforms/platform.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import { commandLine } from './support/command-line.js';
import { SECRET_KEY } from './support/secret-key.js';
import { post, type TestSite, useService } from './support/service.js';
import { callTag, visitorCookie } from './support/tag-calls.js';
import { eventually } from './support/waiting.js';

const RUNS = 12;
const GOOGLE = { customer_id: '1234567890', client_id: 'client', client_secret: 'secret', refresh_token: 'refresh' };
const CONNECTIONS = {
  google_ads: { ...GOOGLE, 'event.purchase': '987', require_click_id: 'yes' },
  ga4: { measurement_id: 'G-ABC1234', api_secret: 'secret', synthetic_client_id: 'yes', refund_event: 'refund' },
};

const { databaseUrl, operator, service } = await useService({ COLLECT_BURST: '10000', TRUSTED_PROXIES: '127.0.0.1' });
const sandbox = await new Sandbox().start();
const secrets = new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
const erasure = new Erasure(operator.postgres, allProjections(secrets), async () => {});
afterAll(() => sandbox.stop());

type Step =
  | { readonly kind: 'visit' | 'identify' | 'erase'; readonly person: number }
  | { readonly kind: 'post' | 'correct'; readonly person: number; readonly order: number | undefined }
  /** Posts what was posted before: the last, or an earlier one. */
  | { readonly kind: 'repeat'; readonly before: number };

const person = fc.nat(1);
const order = fc.option(fc.nat(1), { nil: undefined, freq: 3 });
const anySteps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('visit', 'identify', 'erase'), person }),
    fc.record({ kind: fc.constantFrom('post', 'correct'), person, order }),
    fc.record({ kind: fc.constant('repeat'), before: fc.nat(5) }),
  ) as fc.Arbitrary<Step>,
  { minLength: 4, maxLength: 12 },
);
/** A conversion that is matched late, and an erasure: steps drawn one by one hardly ever put the claim of an order at risk. */
const lateMatch: fc.Arbitrary<Step[]> = fc.record({ person, order }).map(({ person, order }) => [
  { kind: 'visit', person },
  { kind: 'post', person, order },
  { kind: 'identify', person },
  { kind: 'erase', person },
]);
const steps = fc
  .tuple(anySteps, lateMatch, fc.array(fc.nat(12), { minLength: 4, maxLength: 4 }))
  .map(([others, own, places]) => interleaved(others, own, places));

function interleaved(others: readonly Step[], own: readonly Step[], places: readonly number[]): Step[] {
  const all = [...others];
  const sorted = [...places].sort((one, other) => one - other);
  for (const [index, step] of own.entries()) all.splice((sorted[index] ?? 0) + index, 0, step);
  return all;
}

/** The sequence that once freed the claim of an order. */
const LATE_MATCH: Step[] = [
  { kind: 'visit', person: 0 },
  { kind: 'post', person: 0, order: 0 },
  { kind: 'identify', person: 0 },
  { kind: 'erase', person: 0 },
  { kind: 'repeat', before: 0 },
];

interface Body {
  readonly email: string;
  readonly event: string;
  readonly orderId: string | undefined;
}

/** A site and its people, with what must be stored about them. */
class Model {
  private readonly people = [0, 1].map((index) => ({
    email: `person-${index}@example.com`,
    browser: { visitor: randomUUID(), cookie: undefined as string | undefined, clickedMs: 0 },
    identified: false,
    /** Received conversions that have to be reopened when the person is identified. */
    unmatched: 0,
  }));
  /** Dedup keys that are claimed, and by which person, unless an order claims them. */
  private readonly claims = new Map<string, string | undefined>();
  private readonly posted: Body[] = [];
  private reopened = 0;

  constructor(private readonly site: TestSite) {}

  async take(step: Step): Promise<void> {
    if (step.kind === 'repeat') {
      const body = this.posted.at(-1 - (step.before % this.posted.length));
      return body && this.post(body);
    }
    const someone = this.people[step.person] as (typeof this.people)[number];
    switch (step.kind) {
      case 'visit':
        someone.browser.clickedMs ||= Date.now();
        return this.tag('collect', someone, {});
      case 'identify': {
        await this.tag('identify', someone, { hash: hash('sha256', someone.email) });
        someone.identified = true;
        if (someone.browser.clickedMs > 0) this.reopened += someone.unmatched;
        someone.unmatched = 0;
        return this.waitForLateMatches();
      }
      case 'erase': {
        await erasure.erase('cli', this.site.host, hash('sha256', someone.email));
        for (const [key, by] of this.claims) if (by === someone.email) this.claims.delete(key);
        someone.browser = { visitor: randomUUID(), cookie: undefined, clickedMs: 0 };
        Object.assign(someone, { identified: false, unmatched: 0 });
        return;
      }
      default: {
        // A correction names its order.
        const orderId = step.order === undefined && step.kind === 'post' ? undefined : `ORD-${step.order ?? 0}`;
        const event = step.kind === 'post' ? 'purchase' : 'refund';
        return this.post({ email: someone.email, event, orderId });
      }
    }
  }

  /** Every claim that is left is still one, and no other. */
  async repeatAll(): Promise<void> {
    const bodies = new Map(this.posted.map((body) => [JSON.stringify(body), body]));
    for (const body of bodies.values()) await this.post(body);
  }

  private async post(body: Body): Promise<void> {
    this.posted.push(body);
    const { event, orderId, email } = body;
    const key = `${event} ${orderId ?? email}`;
    const headers = { 'X-Forwarded-Proto': 'https' };
    const reply = await post(service, this.site, { ...body, value: 129.9, currency: 'EUR' }, { headers });
    expect(JSON.parse(reply.body)).toMatchObject({ ok: true, ...(this.claims.has(key) && { deduped: true }) });
    if (this.claims.has(key)) return;
    expect(reply.body).not.toContain('deduped');
    this.claims.set(key, orderId === undefined ? email : undefined);
    const someone = this.people.find((each) => each.email === email) as (typeof this.people)[number];
    if (event === 'purchase' && someone.browser.clickedMs > 0 && !someone.identified) someone.unmatched += 1;
  }

  private async tag(call: string, { browser }: (typeof this.people)[number], fields: object): Promise<void> {
    const clicks = browser.clickedMs > 0 ? { gclid: { id: 'Gclid-1', t: browser.clickedMs } } : {};
    const message = { visitor: browser.visitor, clicks, ...fields };
    const reply = await callTag(service, this.site, call, message, { headers: { Cookie: browser.cookie } });
    expect(reply.status).toBe(204);
    browser.cookie ??= visitorCookie(reply);
  }

  private async waitForLateMatches(): Promise<void> {
    await eventually(
      async () =>
        (await operator.conversions(this.site.host)).filter(({ type }) => type === 'conversion.reopened.v1').length,
      this.reopened,
    );
  }
}

async function openSite(): Promise<TestSite> {
  const site = await operator.openSite();
  for (const [name, set] of Object.entries(CONNECTIONS))
    await operator.connect(site.host, name as PlatformName, set, `${sandbox.url}/${name}`);
  await service.refreshSites();
  return site;
}

describe('the claim of an order', () => {
  it('survives visits, identifications, corrections and erasures of its person in every order', async () => {
    const property = fc.asyncProperty(steps, async (drawn) => {
      const model = new Model(await openSite());
      for (const step of drawn) await model.take(step);
      await model.repeatAll();
    });
    await fc.assert(property, { numRuns: RUNS, examples: [[LATE_MATCH]], endOnFailure: true });
    await commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY }).text('history verify');
  });
});
