import { commandLine } from './command-line.js';
import { createDatabase } from './databases.js';
import { driveClock } from './driven-clock.js';
import { SECRET_KEY } from './secret-key.js';
import { openOperator, post, startTestService } from './service.js';
import { eventually } from './waiting.js';
import type { WebhookReceiver } from './webhook-receiver.js';

export const EMAIL = 'jane@example.com';

/** A service that removes what is old, with a clock that a test drives, and a site that is connected to Meta. */
export async function openRetainedService(receiver: WebhookReceiver, retention: Record<string, string>) {
  const databaseUrl = await createDatabase();
  const clock = await driveClock(databaseUrl);
  const environment = { ...retention, COLLECT_BURST: '10000', TRUSTED_PROXIES: '127.0.0.1' };
  const operator = await openOperator(databaseUrl);
  const service = await startTestService(databaseUrl, environment);
  for (const postgres of [operator.postgres, service.services.postgres]) clock.follow(postgres);
  const site = await operator.openSite();
  receiver.answer = (call, response) => {
    const { length } = JSON.parse(call.body).data as unknown[];
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{"events_received":${length}}`);
  };
  await operator.connect(site.host, 'meta', { pixel_id: '1', access_token: 'token' }, receiver.url);
  await service.refreshSites();
  const cli = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY, ...environment });
  return {
    ...{ clock, operator, service, site },
    /** Without an order, the customer is what a repeat is recognised by. */
    buy: (orderId: string | undefined) =>
      post(service, site, { email: EMAIL, event: 'purchase', value: 5, currency: 'EUR', orderId }),
    /** Removes until it has removed what is meant: the scans of the service hold what they have not read yet. */
    retained: async <Answer>(answer: () => Promise<Answer>, isExpected: (answer: Answer) => boolean) =>
      eventually(async () => {
        await service.retain();
        return answer();
      }, isExpected),
    /** Types of the events with a personal part. */
    personal: async () =>
      (await operator.log.read()).flatMap(({ personal, type }) => (personal === null ? [] : [type])).sort(),
    failedChecks: async () =>
      (await cli.json('history verify')).checks.filter(({ ok }: { readonly ok: boolean }) => !ok) as object[],
    async stop() {
      await service.stop();
      await operator.close();
      await clock.close();
    },
  };
}
