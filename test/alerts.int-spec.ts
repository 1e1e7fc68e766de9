import { randomUUID } from 'node:crypto';
import { AlertStore } from '../src/app/alerts/alert-store.js';
import { AlertWatch } from '../src/app/alerts/alert-watch.js';
import type { AlertChannel } from '../src/app/alerts/channel.js';
import {
  addChannel,
  channelSecrets,
  type NewChannel,
  pauseChannel,
  readChannels,
  removeChannel,
  shownChannels,
} from '../src/app/alerts/channels.js';
import { observe } from '../src/app/alerts/observe.js';
import { senderOf, testChannel } from '../src/app/alerts/operate-channels.js';
import { sendMessage } from '../src/app/alerts/send-message.js';
import { serviceAttention } from '../src/app/attention/attention.js';
import type { AttentionItem } from '../src/app/attention/attention-item.js';
import { allProjections } from '../src/app/projections.js';
import { signature } from '../src/http/webhook-signature.js';
import { openSealer } from '../src/kernel/secret-key.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { openHttpClient } from '../src/outbound/pusher.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { useAdmin } from './support/admin.js';
import { SECRET_KEY } from './support/secret-key.js';
import { startSmtpServer } from './support/smtp-server.js';
import { answerWith, startReceiver } from './support/webhook-receiver.js';

const HOUR_MS = 60 * 60_000;
const RECIPIENT = 'ops@team.example';

const admin = await useAdmin();
const { log, postgres } = admin;
const boss = await admin.signedIn('admin');
const [smtp, receiver] = [await startSmtpServer(), await startReceiver()];
const settings = readSettings({
  ...{ SECRET_KEY, SMTP_URL: smtp.url, ALERT_FROM: 'alerts@cc.example', ADMIN_URL: 'https://admin.example' },
  OUTBOUND_ALLOW_PRIVATE: 'true',
});
const secrets = new SiteSecrets(postgres.pool, openSealer(settings));
const sites = new SiteRepository(log);
const projections = new ProjectionRunner(postgres, allProjections(secrets));
const dependencies = { settings, postgres, log, secrets, sites, projections };
const httpClient = openHttpClient(settings);

/** What needs attention, and how far the clock is ahead of that of the database. */
let items: AttentionItem[] = [];
let aheadMs = 0;

const item = (more: Partial<AttentionItem> = {}): AttentionItem => ({
  ...{ kind: 'connection_parked', severity: 'error', site: 'shop.example', platform: 'meta', detail: 'Token revoked.' },
  action: { label: 'Reconnect', method: 'PUT', route: '/' },
  ...more,
});

/** An instance, with the clock of the spec. Its holding time is none: an item is told of when it is seen for the second time. */
function instance(more: { readonly real?: true; readonly afterSend?: () => Promise<void> } = {}) {
  const clock = Object.create(postgres.clock, {
    nowMs: { value: () => postgres.clock.nowMs() + aheadMs },
    at: { value: (ms: number) => postgres.clock.at(ms) + aheadMs },
  });
  const database = Object.create(postgres, { clock: { value: clock } }) as typeof postgres;
  return new AlertWatch(database, new AlertStore(database), {
    ...{ everyMs: 1_000, holdMs: 0, attemptMs: 20_000 },
    channels: () => readChannels(log),
    observe: async (nowMs) =>
      more.real ? observe(dependencies, await sites.all(), nowMs) : { items, isUnknown: () => false },
    send: async (channel, message, mayGo) => {
      const of = { channel, secrets: (await channelSecrets(secrets))(channel), sender: senderOf(settings) };
      const verdict = await sendMessage({ httpClient, smtp: settings.smtp }, of, message, clock.nowMs(), mayGo);
      await more.afterSend?.();
      return verdict;
    },
    onError: (error) => {
      throw error;
    },
  });
}

/** So that all that follows from the items has happened. */
async function settle(watch = instance()): Promise<void> {
  for (let round = 0; round < 4; round += 1) await watch.check();
}

const add = (channel: NewChannel) => addChannel(dependencies, 'system', channel);
const webhookTo = async (path: string, more: Partial<NewChannel> = {}) => {
  const { channel, secret } = await add({ kind: 'webhook', to: `${receiver.url}${path}`, ...more });
  return { id: channel.id, secret: secret as string };
};
const typesAt = (path: string) => receiver.callsTo(path).map(({ body }) => JSON.parse(body).type);
const subjects = () => smtp.emails.map(({ text }) => /^Subject: (.*)$/m.exec(text)?.[1]);

afterEach(async () => {
  for (const { id } of await readChannels(log)) await removeChannel(dependencies, 'system', id);
  await postgres.pool.query('DELETE FROM cc.alerts');
  await postgres.pool.query(`UPDATE cc.leases SET until = '-infinity' WHERE name = 'alerts'`);
  [items, aheadMs] = [[], 0];
  smtp.emails.length = 0;
  smtp.recipientAnswer = '250 OK';
  receiver.calls.length = 0;
  receiver.answer = answerWith(200);
});
afterAll(async () => {
  await httpClient.close();
  await Promise.all([smtp.stop(), receiver.stop()]);
});

describe('an alert', () => {
  it('is sent once when it starts and once when it ends, by email, to Slack and to a signed webhook', async () => {
    await add({ kind: 'email', to: RECIPIENT });
    await add({ kind: 'slack', to: `${receiver.url}/slack` });
    const { secret } = await webhookTo('/hook');
    items = [item()];
    await settle();
    items = [item({ count: 12 })];
    await settle();
    expect(subjects()).toEqual(['[Clean Conversions] Connection parked: meta at shop.example']);
    const [email] = smtp.emails;
    expect(email).toMatchObject({ from: 'alerts@cc.example', to: RECIPIENT });
    expect(email?.text).toContain('https://admin.example/sites/shop.example/overview');
    expect(receiver.callsTo('/slack').map(({ body }) => Object.keys(JSON.parse(body)))).toEqual([['text']]);
    items = [];
    await settle();
    expect(subjects()).toHaveLength(2);
    expect(typesAt('/hook')).toEqual(['alert.started', 'alert.ended']);
    for (const { headers, body } of receiver.callsTo('/hook')) {
      const [id, timestamp] = [headers['webhook-id'] as string, Number(headers['webhook-timestamp'])];
      expect(headers['webhook-signature']).toBe(signature(secret, id, timestamp, body));
    }
    items = [item()];
    await settle();
    expect(typesAt('/hook')).toEqual(['alert.started', 'alert.ended', 'alert.started']);
  });

  it('is sent by one of several instances', async () => {
    await webhookTo('/hook');
    items = [item()];
    const instances = [instance(), instance(), instance()];
    for (let round = 0; round < 4; round += 1) await Promise.all(instances.map((watch) => watch.check()));
    expect(typesAt('/hook')).toEqual(['alert.started']);
  });

  it('is sent again with the same id if the process ended before it knew that it was delivered', async () => {
    await webhookTo('/hook');
    await add({ kind: 'email', to: RECIPIENT });
    items = [item()];
    const killed = instance({ afterSend: () => new Promise(() => {}) });
    await killed.check();
    void killed.check();
    const both = async () => {
      while (receiver.calls.length + smtp.emails.length < 2) await new Promise((next) => setImmediate(next));
    };
    await both();
    await settle();
    expect(receiver.calls).toHaveLength(1);
    // The lease of the process has ended.
    aheadMs = HOUR_MS;
    await settle();
    const ids = receiver.callsTo('/hook').map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
    expect(new Set(receiver.callsTo('/hook').map(({ body }) => body)).size).toBe(1);
    const messageIds = smtp.emails.map(({ text }) => /^Message-ID: (.*)$/m.exec(text)?.[1]);
    expect(messageIds).toEqual([expect.stringMatching(/^<[\w-]+@cc\.example>$/), messageIds[0]]);
  });

  it('is told to a channel that is added or resumed while it lasts, and its end only to those who know of it', async () => {
    const { id } = await webhookTo('/one');
    items = [item()];
    await settle();
    await webhookTo('/two');
    await pauseChannel(dependencies, 'system', id, true);
    items = [item(), item({ platform: 'tiktok' })];
    await settle();
    expect([typesAt('/one'), typesAt('/two')]).toEqual([['alert.started'], ['alert.started', 'alert.started']]);
    items = [];
    await settle();
    await webhookTo('/three');
    await pauseChannel(dependencies, 'system', id, false);
    await settle();
    expect([typesAt('/one'), typesAt('/three')]).toEqual([['alert.started', 'alert.ended'], []]);
  });

  it('is not computed while there is no channel, and not sent to one that was removed', async () => {
    items = [item()];
    await settle();
    expect((await postgres.pool.query('SELECT FROM cc.alerts')).rowCount).toBe(0);
    const { id } = await webhookTo('/gone');
    receiver.answer = answerWith(500);
    await settle();
    expect(typesAt('/gone')).toHaveLength(1);
    await removeChannel(dependencies, 'system', id);
    await webhookTo('/other');
    aheadMs = HOUR_MS;
    await settle();
    expect(typesAt('/gone')).toHaveLength(1);
    expect((await postgres.pool.query(`SELECT FROM cc.secrets WHERE name LIKE $1`, [`alert-${id}%`])).rowCount).toBe(0);
  });
});

describe('a channel that fails', () => {
  it('gets the start before the end once it works again', async () => {
    await webhookTo('/hook');
    receiver.answer = answerWith(503);
    items = [item()];
    await settle();
    items = [];
    await settle();
    expect(typesAt('/hook')).toEqual(['alert.started']);
    receiver.answer = answerWith(200);
    aheadMs = HOUR_MS;
    await settle();
    expect(typesAt('/hook')).toEqual(['alert.started', 'alert.started', 'alert.ended']);
  });

  it('is given up after a day, and needs attention, of which it is not told itself', async () => {
    const failing = await webhookTo('/failing');
    await webhookTo('/works');
    receiver.answer = (call, response) => answerWith(call.path === '/failing' ? 500 : 200)(call, response);
    items = [item()];
    const lateItems = async () =>
      (await serviceAttention(dependencies)).filter(({ kind }) => kind === 'alerts_failing');
    for (let hour = 0; hour < 4; hour += 1) {
      aheadMs = hour * HOUR_MS;
      await settle();
    }
    const [found, ...others] = await lateItems();
    expect([found, others]).toMatchObject([
      { subject: failing.id, count: 1, detail: expect.stringContaining('HTTP 500') },
      [],
    ]);
    items = [item(), found as AttentionItem];
    await settle();
    expect(typesAt('/works')).toEqual(['alert.started', 'alert.started']);
    aheadMs = 25 * HOUR_MS;
    await settle();
    const { rows } = await postgres.pool.query(`SELECT delivered FROM cc.alert_messages WHERE channel = $1`, [
      failing.id,
    ]);
    expect(rows).toEqual([{ delivered: false }]);
  });

  it('says nothing of the recipient when the server refuses it', async () => {
    const { channel } = await add({ kind: 'email', to: RECIPIENT });
    smtp.recipientAnswer = `550 No such user ${RECIPIENT}`;
    expect(await testChannel(dependencies, channel.id)).toEqual({
      ...{ id: channel.id, ok: false },
      reason: 'EENVELOPE: the server refused the sender or the recipient (SMTP 550)',
    });
  });
});

describe('a channel', () => {
  it('is tested with a message that is no alert', async () => {
    const hook = await webhookTo('/test');
    const { channel } = await add({ kind: 'email', to: RECIPIENT, name: 'On call' });
    for (const id of [hook.id, channel.id]) expect(await testChannel(dependencies, id)).toEqual({ id, ok: true });
    expect(typesAt('/test')).toEqual(['alert.test']);
    expect(subjects()).toEqual(['[Clean Conversions] Test: alerts arrive here']);
    receiver.answer = answerWith(404);
    expect(await testChannel(dependencies, hook.id)).toMatchObject({ ok: false, reason: 'HTTP 404' });
    await expect(testChannel(dependencies, randomUUID())).rejects.toThrow('There is no alert channel');
  });

  it('is shown without its secrets, which are in no event', async () => {
    const path = '/services/T0AB12CD3/B0AB12CD3/abcdefABCDEF1234567890ab';
    await add({ kind: 'slack', to: `${receiver.url}${path}`, name: 'Ops' });
    await add({ kind: 'email', to: RECIPIENT });
    const { secret } = await webhookTo('/hook');
    const shown = JSON.stringify(await shownChannels(dependencies));
    expect(shown).toContain(RECIPIENT);
    expect(shown).not.toContain('abcdefABCDEF1234567890ab');
    expect(shown).not.toContain(secret);
    const events = JSON.stringify(await log.read({ categories: ['log'] }));
    for (const hidden of [RECIPIENT, path, secret, receiver.url, 'Ops']) expect(events).not.toContain(hidden);
  });

  it('has an address that may be called, and a known site', async () => {
    const strict = { ...dependencies, settings: { ...settings, outboundAllowPrivate: false } };
    const refused = (channel: NewChannel) => addChannel(strict, 'system', channel);
    await expect(refused({ kind: 'webhook', to: 'https://10.0.0.1/hook' })).rejects.toThrow('public internet');
    await expect(refused({ kind: 'slack', to: 'http://hooks.example/x' })).rejects.toThrow('https');
    await expect(refused({ kind: 'email', to: 'a@b.example, c@d.example' })).rejects.toThrow('not an email address');
    await expect(refused({ kind: 'email', to: RECIPIENT, sites: ['unknown.example'] })).rejects.toThrow(
      'unknown.example',
    );
    const without = { ...dependencies, settings: { ...settings, smtp: undefined } };
    await expect(addChannel(without, 'system', { kind: 'email', to: RECIPIENT })).rejects.toThrow('SMTP_URL');
    expect(await readChannels(log)).toEqual([] satisfies AlertChannel[]);
  });
});

describe('alerts of a site', () => {
  const host = 'alerts.example';
  const kinds = () => receiver.callsTo('/site').map(({ body }) => [JSON.parse(body).type, JSON.parse(body).data.kind]);

  it('neither end nor start while it is paused, and end when it is removed', async () => {
    await boss.post('/sites', { host });
    await boss.put(`/sites/${host}/connections/meta`, { settings: { pixel_id: '1', access_token: 'token' } });
    const { id: stream } = await sites.get(host);
    const parked = { type: 'site.platform_parked.v1', data: { platform: 'meta', reason: 'revoked' } };
    await log.append({ category: 'site', stream, expected: 'any', site: host, actor: 'system', events: [parked] });
    for (const { name } of await projections.status()) await projections.catchUp(name);
    await webhookTo('/site', { sites: [host] });
    const watch = instance({ real: true });
    await settle(watch);
    expect(kinds()).toEqual([['alert.started', 'connection_parked']]);
    await boss.put(`/sites/${host}/pause`, { paused: true });
    await settle(watch);
    await boss.put(`/sites/${host}/pause`, { paused: false });
    await settle(watch);
    expect(kinds()).toHaveLength(1);
    expect((await boss.delete(`/sites/${host}`)).status).toBeLessThan(300);
    await settle(watch);
    expect(kinds()).toEqual([
      ['alert.started', 'connection_parked'],
      ['alert.ended', 'connection_parked'],
    ]);
  });
});
