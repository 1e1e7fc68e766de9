import { jest } from '@jest/globals';
import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { SITE } from '../events/site.events.js';
import type { CommandDispatcher } from '../kernel/command.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { EventLog } from '../log/event-log.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { platform as segment } from '../platforms/segment/index.js';
import {
  ConnectPlatform,
  DisconnectPlatform,
  ParkConnection,
  PauseConnection,
  ResumeConnection,
} from './connections/connection.commands.js';
import { hashApiKey } from './keys/api-key.js';
import { IssueKey, RevokeKey, RotateKey } from './keys/key.commands.js';
import {
  AddSite,
  ChangeAliases,
  ChangeSiteSettings,
  DisableInbound,
  EnableInbound,
  RemoveSite,
} from './site.commands.js';
import { keyState } from './site.js';
import { siteCommandDispatcher } from './site-command-handlers.js';
import { SiteRepository } from './site-repository.js';
import type { ConnectionSecrets, SiteSecrets } from './site-secrets.js';
import { DisableWebhook, EnableWebhook, RotateWebhookSecret, SetWebhook } from './webhook.commands.js';

const HOST = 'shop.example';
const WEBHOOK = { url: 'https://hooks.shop.example/totals', allowPrivate: false };

/** Stores secrets unencrypted, by owner. */
class InMemorySecrets implements Partial<SiteSecrets> {
  private readonly byOwner = new Map<string, ConnectionSecrets>();

  within(): SiteSecrets {
    return this as unknown as SiteSecrets;
  }
  async ensureDedupSecret(): Promise<void> {}
  async connectionSecrets(_site: string, owner: string): Promise<ConnectionSecrets> {
    return this.byOwner.get(owner) ?? {};
  }
  async storeConnectionSecrets(_site: string, owner: string, values: ConnectionSecrets): Promise<void> {
    this.byOwner.set(owner, { ...this.byOwner.get(owner), ...values });
  }
  async deleteConnectionSecrets(_site: string, owner: string, names: readonly string[]): Promise<void> {
    const left = Object.entries(this.byOwner.get(owner) ?? {}).filter(([name]) => !names.includes(name));
    this.byOwner.set(owner, Object.fromEntries(left));
  }
  async hasWebhookSecret(): Promise<boolean> {
    return this.byOwner.get('outbound')?.['secret'] !== undefined;
  }
  async deleteWebhookSecrets(): Promise<void> {
    this.byOwner.delete('outbound');
  }
}

describe('site commands', () => {
  let log: EventLog;
  let sites: SiteRepository;
  let secrets: InMemorySecrets;
  let commands: CommandDispatcher;

  beforeEach(async () => {
    log = new InMemoryLog();
    sites = new SiteRepository(log);
    secrets = new InMemorySecrets();
    commands = siteCommandDispatcher(sites, secrets as unknown as SiteSecrets);
    await commands.execute(new AddSite('cli', 'Shop.Example', ['www.shop.example', HOST]));
  });

  const newest = async () => (await log.read({ categories: [SITE] })).at(-1);
  const countEvents = async () => (await log.read({ categories: [SITE] })).length;

  it('reports a change when it is in force, also one that another request has made', async () => {
    const order: string[] = [];
    const applied = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      order.push(`in force: ${(await newest())?.type}`);
    };
    const waiting = siteCommandDispatcher(new SiteRepository(log, { applied }), secrets as unknown as SiteSecrets);
    for (let call = 0; call < 2; call += 1) {
      await waiting.execute(new EnableInbound('cli', HOST));
      order.push('reported');
    }
    const inForce = 'in force: site.inbound_enabled.v1';
    expect(order).toEqual([inForce, 'reported', inForce, 'reported']);
  });

  describe('a command whose event the log refuses', () => {
    const refused = new LogUnavailable('The append timed out');
    const refuse = () => {
      for (const method of ['append', 'appendWith'] as const) jest.spyOn(log, method).mockRejectedValue(refused);
    };

    it('leaves the secrets of a connection as they were', async () => {
      const connect = (key: string) => new ConnectPlatform('cli', HOST, segment, { set: { write_key: key } });
      await commands.execute(connect('one'));
      refuse();
      await expect(commands.execute(connect('two'))).rejects.toThrow(refused);
      await expect(commands.execute(new DisconnectPlatform('cli', HOST, 'segment'))).rejects.toThrow(refused);
      expect(await secrets.connectionSecrets(HOST, 'segment')).toEqual({ write_key: 'one' });
    });

    it('leaves no secret of a new connection', async () => {
      refuse();
      const connect = new ConnectPlatform('cli', HOST, segment, { set: { write_key: 'one' } });
      await expect(commands.execute(connect)).rejects.toThrow(refused);
      expect(await secrets.connectionSecrets(HOST, 'segment')).toEqual({});
    });

    it('leaves the secret of the webhook as it was', async () => {
      const { generatedSecret: secret } = await commands.execute(new SetWebhook('cli', HOST, WEBHOOK));
      refuse();
      await expect(commands.execute(new RotateWebhookSecret('cli', HOST))).rejects.toThrow(refused);
      const elsewhere = { url: 'https://other.example/totals', allowPrivate: false };
      await expect(commands.execute(new SetWebhook('cli', HOST, elsewhere))).rejects.toThrow(refused);
      expect(await secrets.connectionSecrets(HOST, 'outbound')).toEqual({ secret });
    });
  });

  describe('ChangeAliases', () => {
    const change = (add: string[], remove: string[] = []) =>
      commands.execute(new ChangeAliases('cli', HOST, { add, remove }));

    it('adds and removes hosts of a site that exists', async () => {
      const { aliases } = await change(['Track.shop.example', HOST], ['www.shop.example']);
      expect(aliases).toEqual(['track.shop.example']);
      expect((await sites.get('track.shop.example')).host).toBe(HOST);
      expect(await sites.findOwner('www.shop.example')).toBeUndefined();
    });

    it('appends nothing if nothing changes', async () => {
      const before = await countEvents();
      await change(['www.shop.example']);
      expect(await countEvents()).toBe(before);
    });

    it('rejects a host of another site, and the removal of a host that is not an alias', async () => {
      await commands.execute(new AddSite('cli', 'other.example'));
      await expect(change(['other.example'])).rejects.toThrow('other.example already belongs to site other.example.');
      await expect(change([], ['other.example'])).rejects.toThrow(`other.example is not an alias of ${HOST}.`);
    });
  });

  describe('RemoveSite', () => {
    const remove = () => commands.execute(new RemoveSite('cli', HOST));

    beforeEach(async () => {
      await commands.execute(new EnableInbound('cli', HOST));
      await commands.execute(new IssueKey('cli', HOST, 'Shop', false));
      await commands.execute(new ConnectPlatform('cli', HOST, segment, { set: { write_key: 'w'.repeat(32) } }));
      await commands.execute(new SetWebhook('cli', HOST, WEBHOOK));
    });

    it('stops everything that the site did, and deletes its secrets', async () => {
      expect(await remove()).toMatchObject({
        inbound: false,
        aliases: [],
        removed: true,
        keys: [{ status: 'revoked' }],
        connections: [{ platform: 'segment', disconnected: true }],
        webhook: { enabled: false },
      });
      expect(await secrets.connectionSecrets(HOST, 'segment')).toEqual({});
      expect(await secrets.connectionSecrets(HOST, 'outbound')).toEqual({});
      expect(await sites.all()).toEqual([]);
    });

    it('keeps the history readable, and refuses changes', async () => {
      await remove();
      expect((await sites.get(HOST)).removed).toBe(true);
      await expect(commands.execute(new EnableInbound('cli', HOST))).rejects.toThrow(`There is no site ${HOST}.`);
      await expect(remove()).rejects.toThrow(`There is no site ${HOST}.`);
    });

    it('frees the host and its aliases for other sites', async () => {
      await remove();
      await commands.execute(new AddSite('cli', 'new.example', ['www.shop.example']));
      const { removed, inbound } = await commands.execute(new AddSite('cli', HOST));
      expect({ removed, inbound }).toEqual({ removed: undefined, inbound: false });
    });

    it('lets another site have the host, with nothing of the removed one', async () => {
      const earlier = await sites.get(HOST);
      await remove();
      const added = await commands.execute(new AddSite('cli', HOST));
      expect(added.id).not.toBe(earlier.id);
      expect(added).toMatchObject({ keys: [], connections: [], filters: [], aliases: [] });
      expect(added.webhook).toBeUndefined();
      expect(await newest()).toMatchObject({ type: 'site.registered.v1', data: { host: HOST, id: added.id } });
      expect(added.since).toBe((await newest())?.position);
      await remove();
      expect((await commands.execute(new AddSite('cli', HOST))).id).not.toBe(added.id);
    });

    it('needs the webhook to be set again when the site is added again', async () => {
      await remove();
      await commands.execute(new AddSite('cli', HOST));
      await expect(commands.execute(new EnableWebhook('cli', HOST))).rejects.toThrow('has no webhook');
      await expect(commands.execute(new RotateWebhookSecret('cli', HOST))).rejects.toThrow('has no webhook');
      const { webhook, generatedSecret } = await commands.execute(new SetWebhook('cli', HOST, WEBHOOK));
      // Removing the site disabled it, which is no decision about the one that is set now.
      expect([webhook.enabled, generatedSecret]).toEqual([true, expect.stringMatching(/^whsec_/)]);
    });

    it('completes a removal that was interrupted', async () => {
      await commands.execute(new DisconnectPlatform('cli', HOST, 'segment'));
      await commands.execute(new DisableInbound('cli', HOST));
      expect(await remove()).toMatchObject({ removed: true, keys: [{ status: 'revoked' }] });
    });
  });

  describe('AddSite', () => {
    it('registers the normalised host and its aliases', async () => {
      expect(await newest()).toMatchObject({
        type: 'site.registered.v1',
        site: HOST,
        actor: 'cli',
        data: { host: HOST, aliases: ['www.shop.example'] },
      });
    });

    it.each([HOST, 'www.shop.example'])('rejects %s, which belongs to a site', async (name) => {
      await expect(commands.execute(new AddSite('cli', name))).rejects.toThrow(
        `${name} already belongs to site ${HOST}. "sites show ${HOST}" shows it.`,
      );
    });

    it('adds a host once when two callers add it at the same time', async () => {
      const results = await Promise.allSettled([1, 2].map(() => commands.execute(new AddSite('cli', 'new.example'))));
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect((await sites.all()).map(({ host }) => host)).toEqual([HOST, 'new.example']);
    });
  });

  it('stores the actor of the command', async () => {
    await commands.execute(new EnableInbound('system', HOST));
    expect(await newest()).toMatchObject({ type: 'site.inbound_enabled.v1', actor: 'system' });
    await commands.execute(new DisableInbound('user:ada', HOST));
    expect(await newest()).toMatchObject({ type: 'site.inbound_disabled.v1', actor: 'user:ada' });
  });

  it('appends nothing when nothing changes', async () => {
    await commands.execute(new EnableInbound('cli', HOST));
    const before = await countEvents();
    expect(await commands.execute(new EnableInbound('cli', HOST))).toMatchObject({ inbound: true });
    await commands.execute(new ChangeSiteSettings('cli', HOST, { set: [], unset: ['country'] }));
    expect(await countEvents()).toBe(before);
  });

  it('rejects an unknown site with the command that adds it', async () => {
    await expect(commands.execute(new EnableInbound('cli', 'no.example'))).rejects.toThrow(
      'There is no site no.example. Add it with "sites add no.example".',
    );
  });

  it('decides again when another writer changes the site in the meantime', async () => {
    const names = ['one', 'two', 'three'];
    await Promise.all(names.map((name) => commands.execute(new IssueKey('cli', HOST, name, false))));
    const { keys } = await sites.get(HOST);
    expect(keys.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  it('issues a key, stores its hash only, and revokes it once', async () => {
    const { key, id } = await commands.execute(new IssueKey('cli', HOST, 'CRM', true));
    expect(await newest()).toMatchObject({ data: { keyId: id, name: 'CRM', hash: hashApiKey(key), trial: true } });
    expect(JSON.stringify(await log.read())).not.toContain(key);
    for (const _ of [1, 2])
      expect(await commands.execute(new RevokeKey('cli', HOST, id))).toMatchObject({ status: 'revoked' });
    expect(await countEvents()).toBe(3);
    await expect(commands.execute(new RevokeKey('cli', HOST, 'none'))).rejects.toThrow('has no key none');
  });

  describe('RotateKey', () => {
    const EXPIRES = '2026-03-02T10:00:00.000Z';
    const rotate = (id: string) => commands.execute(new RotateKey('user:ada', HOST, id, EXPIRES));

    it('issues a key with the same name and kind, and says when the old one expires', async () => {
      const old = await commands.execute(new IssueKey('cli', HOST, 'CRM', true));
      const { key, ...issued } = await rotate(old.id);
      expect(issued).toMatchObject({ name: 'CRM', trial: true, hash: hashApiKey(key), status: 'active' });
      expect(issued.id).not.toBe(old.id);
      const data = { keyId: old.id, newKeyId: issued.id, expiresAt: EXPIRES };
      expect(await newest()).toMatchObject({ type: 'site.key_rotated.v1', actor: 'user:ada', data });
      const { keys } = await sites.get(HOST);
      expect(keys.map((found) => found.rotation)).toEqual([{ newKeyId: issued.id, expiresAt: EXPIRES }, undefined]);
      expect(keys.map((found) => keyState(found, Date.parse(EXPIRES) - 1))).toEqual(['active', 'active']);
      expect(keys.map((found) => keyState(found, Date.parse(EXPIRES)))).toEqual(['expired', 'active']);
    });

    it('refuses a key that is revoked or replaced, and an unknown one', async () => {
      const old = await commands.execute(new IssueKey('cli', HOST, 'CRM', false));
      const { id } = await rotate(old.id);
      await expect(rotate(old.id)).rejects.toThrow(`was replaced by key ${id}`);
      await commands.execute(new RevokeKey('cli', HOST, id));
      await expect(rotate(id)).rejects.toThrow('is revoked');
      await expect(rotate('none')).rejects.toThrow('has no key none');
      expect((await sites.get(HOST)).keys).toHaveLength(2);
    });

    it('replaces a key once when two callers do it at the same time', async () => {
      const { id } = await commands.execute(new IssueKey('cli', HOST, 'CRM', false));
      const outcomes = await Promise.allSettled([rotate(id), rotate(id)]);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect((await sites.get(HOST)).keys).toHaveLength(2);
    });
  });

  describe('connections', () => {
    const connect = (set: Record<string, string>, name?: ConnectionName) =>
      commands.execute(new ConnectPlatform('cli', HOST, segment, { set }, name));

    it('keep secrets out of the log and delete them when disconnected', async () => {
      const { connection } = await connect({ write_key: 's3cr3t' });
      expect(connection).toMatchObject({ platform: 'segment', state: 'active', secretNames: ['write_key'] });
      expect(await secrets.connectionSecrets(HOST, 'segment')).toEqual({ write_key: 's3cr3t' });
      expect(JSON.stringify(await log.read())).not.toContain('s3cr3t');
      await commands.execute(new DisconnectPlatform('cli', HOST, 'segment'));
      expect(await secrets.connectionSecrets(HOST, 'segment')).toEqual({});
    });

    it('are parked, paused and resumed', async () => {
      await connect({ write_key: 'w' });
      expect(await commands.execute(new ParkConnection('system', HOST, 'segment', 'HTTP 401'))).toMatchObject({
        state: 'parked',
        reason: 'HTTP 401',
      });
      expect(await commands.execute(new PauseConnection('cli', HOST, 'segment'))).toMatchObject({ state: 'paused' });
      expect(await commands.execute(new ResumeConnection('cli', HOST, 'segment'))).toMatchObject({ state: 'active' });
    });

    it('of the same platform have settings, secrets and a state of their own', async () => {
      await connect({ write_key: 'one', events: 'purchase' });
      const { connection } = await connect({ write_key: 'two' }, 'segment:eu');
      expect(connection).toMatchObject({ platform: 'segment:eu', settings: {} });
      await connect({ events: 'lead' }, 'segment:eu');
      await commands.execute(new ParkConnection('system', HOST, 'segment:eu', 'HTTP 401'));
      const states = (await sites.get(HOST)).connections.map(({ platform, state, settings }) => [
        platform,
        state,
        settings['events'],
      ]);
      expect(states).toEqual([
        ['segment', 'active', 'purchase'],
        ['segment:eu', 'parked', 'lead'],
      ]);
      await commands.execute(new DisconnectPlatform('cli', HOST, 'segment'));
      expect(await secrets.connectionSecrets(HOST, 'segment')).toEqual({});
      expect(await secrets.connectionSecrets(HOST, 'segment:eu')).toEqual({ write_key: 'two' });
      await expect(commands.execute(new PauseConnection('cli', HOST, 'segment:us'))).rejects.toThrow(
        'segment:us is not connected',
      );
    });

    it('are at most 50, of which disconnected ones do not count', async () => {
      await connect({ write_key: 'w' });
      for (let number = 1; number < 50; number += 1) await connect({ write_key: 'w' }, `segment:n${number}`);
      await expect(connect({ write_key: 'secret' }, 'segment:more')).rejects.toThrow(
        `${HOST} has 50 connections, the maximum. Disconnect one first`,
      );
      expect(await secrets.connectionSecrets(HOST, 'segment:more')).toEqual({});
      await connect({ events: 'lead' }, 'segment:n7');
      await commands.execute(new DisconnectPlatform('cli', HOST, 'segment:n7'));
      await connect({ write_key: 'w' }, 'segment:more');
      await expect(connect({ write_key: 'w' }, 'segment:n7')).rejects.toThrow('the maximum');
    });

    it('that are disconnected reject an operator and ignore the platform', async () => {
      await connect({ write_key: 'w' });
      await commands.execute(new DisconnectPlatform('cli', HOST, 'segment'));
      await expect(commands.execute(new PauseConnection('cli', HOST, 'segment'))).rejects.toThrow('is not connected');
      const before = await countEvents();
      await commands.execute(new PauseConnection('system', HOST, 'segment', 'HTTP 410'));
      await commands.execute(new ParkConnection('system', HOST, 'segment', 'HTTP 401'));
      expect(await countEvents()).toBe(before);
    });
  });

  describe('webhook', () => {
    it('gets a new secret, and the one before signs on', async () => {
      await expect(commands.execute(new RotateWebhookSecret('cli', HOST))).rejects.toThrow('has no webhook');
      const { generatedSecret: first } = await commands.execute(new SetWebhook('cli', HOST, WEBHOOK));
      const { webhook, generatedSecret } = await commands.execute(new RotateWebhookSecret('user:ada', HOST));
      expect(generatedSecret).not.toBe(first);
      expect(await secrets.connectionSecrets(HOST, 'outbound')).toEqual({ secret: generatedSecret, previous: first });
      const event = await newest();
      expect(event).toMatchObject({ actor: 'user:ada', data: { url: WEBHOOK.url, newSecret: true } });
      expect(webhook).toMatchObject({ url: WEBHOOK.url, enabled: true, secretSince: event?.time });
    });

    it('gets a generated secret once and keeps the previous one when it changes', async () => {
      const { webhook, generatedSecret } = await commands.execute(new SetWebhook('cli', HOST, WEBHOOK));
      expect(webhook).toMatchObject({ url: WEBHOOK.url, enabled: true });
      expect(generatedSecret).toMatch(/^whsec_/);
      expect((await commands.execute(new SetWebhook('cli', HOST, WEBHOOK))).generatedSecret).toBeUndefined();
      await commands.execute(new SetWebhook('cli', HOST, { ...WEBHOOK, secret: 'chosen' }));
      expect(await secrets.connectionSecrets(HOST, 'outbound')).toEqual({
        secret: 'chosen',
        previous: generatedSecret,
      });
    });

    it('is disabled and enabled, but only after it was set', async () => {
      await expect(commands.execute(new EnableWebhook('cli', HOST))).rejects.toThrow('has no webhook');
      await commands.execute(new SetWebhook('cli', HOST, WEBHOOK));
      expect(await commands.execute(new DisableWebhook('system', HOST, 'HTTP 410'))).toMatchObject({
        enabled: false,
        reason: 'HTTP 410',
      });
      expect(await commands.execute(new EnableWebhook('cli', HOST))).toMatchObject({ enabled: true });
    });
  });
});
