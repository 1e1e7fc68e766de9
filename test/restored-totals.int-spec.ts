import { pushesCheck } from '../src/history/reconciliation/pushes.check.js';
import type { VerifyDependencies } from '../src/history/verify.js';
import { pushNow } from '../src/outbound/push-now.js';
import { AddSite } from '../src/sites/site.commands.js';
import { SetWebhook } from '../src/sites/webhook.commands.js';
import type { SiteWebhook } from '../src/sites/webhook.js';
import { copyDatabase, createDatabase } from './support/databases.js';
import { RECEIVER_LANGUAGES, startGuideReceiver } from './support/guide-receiver.js';
import { appendEvents, type OutboundInstance, openInstance, type SampleEvent, totalsOf } from './support/outbound.js';
import { eventually } from './support/waiting.js';

const SITE = 'shop.example';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const TIMEOUT_MS = 10_000;

/** Runs an instance on a database until the work is done: a database that is copied may have no connections. */
async function on<Result>(url: string, work: (instance: OutboundInstance) => Promise<Result>): Promise<Result> {
  const instance = await openInstance(url, { OUTBOUND_TIMEOUT: `${TIMEOUT_MS}ms` });
  try {
    return await work(instance);
  } finally {
    await instance.stop();
  }
}

describe.each(RECEIVER_LANGUAGES)('the %s receiver of the guide', (language) => {
  let receiver: Awaited<ReturnType<typeof startGuideReceiver>>;
  let url: string;

  beforeEach(async () => {
    receiver = await startGuideReceiver(language, SECRET);
    url = await createDatabase();
  });
  afterEach(() => receiver.stop());

  const setWebhook = async (instance: OutboundInstance) => {
    const webhook = { url: receiver.url, secret: SECRET, allowPrivate: true };
    await instance.execute(new SetWebhook('cli', SITE, webhook));
  };
  const push = async (instance: OutboundInstance, conversions: number) => {
    await appendEvents(instance.log, SITE, ...Array.from({ length: conversions }, (): SampleEvent => 'received'));
    const before = receiver.totals().length;
    const webhook = (await instance.sites.get(SITE)).webhook as SiteWebhook;
    const target = { site: SITE, webhook, hasMoved: false, secrets: { secret: SECRET } };
    const pushed = await pushNow(instance.postgres, instance.pusher, target, TIMEOUT_MS);
    expect(pushed.type).toBe('outbound.delivered.v1');
    await eventually(
      async () => receiver.totals().length,
      (length) => length > before,
    );
  };
  const expectTotalsOf = async ({ log, sites }: OutboundInstance) => {
    expect(receiver.totals().at(-1)).toEqual(await totalsOf(log, SITE, 0, await log.head()));
    const until = await log.head();
    const dependencies = { sites, log, until, removedUntil: 0, progress: () => {} };
    expect(await pushesCheck.examine(dependencies as unknown as VerifyDependencies)).toMatchObject({ ok: true });
  };

  it('has the totals of the log after a restore between two pushes, and after another one', async () => {
    await on(url, async (instance) => {
      await instance.execute(new AddSite('cli', SITE));
      await setWebhook(instance);
      await push(instance, 5);
    });
    const restored = await copyDatabase(url);
    await on(url, async (instance) => {
      await push(instance, 3);
      await push(instance, 4);
    });
    await on(restored, async (instance) => {
      await push(instance, 6);
      await expectTotalsOf(instance);
      await push(instance, 1);
      await expectTotalsOf(instance);
    });
    const again = await copyDatabase(restored);
    await on(restored, (instance) => push(instance, 8));
    await on(again, async (instance) => {
      await push(instance, 2);
      await expectTotalsOf(instance);
    });
    // An instance that still runs on a database that was given up.
    await on(url, (instance) => push(instance, 100));
    await on(again, async (instance) => {
      await push(instance, 1);
      await expectTotalsOf(instance);
    });
  });

  it('has the totals of the log if the backup was made before the webhook was set', async () => {
    await on(url, async (instance) => {
      await instance.execute(new AddSite('cli', SITE));
    });
    const restored = await copyDatabase(url);
    await on(url, async (instance) => {
      await setWebhook(instance);
      await push(instance, 3);
    });
    await on(restored, async (instance) => {
      await setWebhook(instance);
      await push(instance, 4);
      await expectTotalsOf(instance);
    });
  });
});
