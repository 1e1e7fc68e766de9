import { spawnSync } from 'node:child_process';
import { DisableWebhook, SetWebhook } from '../src/sites/webhook.commands.js';
import { send, useService } from './support/service.js';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool) console.warn('SKIPPED: promtool (install the package prometheus).');
const promtool = (args: readonly string[], input?: string) => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
};

// Kafka's metrics are served where it is configured, also while no broker answers.
const { operator, service } = await useService({ KAFKA_BROKERS: '127.0.0.1:1' });

describe('metrics for what an operator has to fix', () => {
  const metrics = async () => (await send(service, { path: '/metrics', headers: { Host: 'localhost' } })).body;

  it('name parked projections', async () => {
    expect(await metrics()).toContain('cc_projection_parked{projection="match_rate"} 0\n');
    const park = "UPDATE cc.projections SET parked = true, reason = 'an event' WHERE name = 'match_rate'";
    await operator.postgres.pool.query(park);
    const parked = await metrics();
    expect(parked).toContain('cc_projection_parked{projection="match_rate"} 1\n');
    expect(parked).toContain('cc_projection_parked{projection="totals"} 0\n');
  });

  it('count the webhooks that the service disabled, and not those that an operator disabled', async () => {
    for (const reason of [undefined, 'HTTP 410']) {
      const { host } = await operator.openSite();
      await operator.execute(new SetWebhook('cli', host, { url: 'https://127.0.0.1:1/totals', allowPrivate: true }));
      await operator.execute(new DisableWebhook('system', host, reason));
    }
    await service.refreshSites();
    expect(await metrics()).toContain('cc_outbound_webhooks_disabled 1\n');
  });

  it('say whether the relay is refused', async () => {
    expect(await metrics()).toContain('cc_kafka_relay_refused 0\n');
  });

  (hasPromtool ? it : it.skip)('have no problem that promtool finds', async () => {
    expect(promtool(['check', 'metrics'], await metrics())).toEqual({ status: 0, output: '' });
  });
});

(hasPromtool ? describe : describe.skip)('the alert rules', () => {
  it('are valid', () => {
    expect(promtool(['check', 'rules', 'docs/operate/alerts.yml'])).toMatchObject({ status: 0 });
  });

  it('fire for parked projections, a refused relay, disabled webhooks and owed deliveries', () => {
    const { status, output } = promtool(['test', 'rules', 'test/fixtures/alerts.test.yml']);
    expect([status, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });
});
