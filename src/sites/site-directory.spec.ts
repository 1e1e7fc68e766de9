import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { AUTH } from '../events/auth.events.js';
import { IssueKey, RotateKey } from './keys/key.commands.js';
import { AddSite } from './site.commands.js';
import { siteCommandDispatcher } from './site-command-handlers.js';
import { type LoadedSite, SiteDirectory } from './site-directory.js';
import { SiteRepository } from './site-repository.js';
import type { SiteSecrets } from './site-secrets.js';

const HOST = 'shop.example';
const START_MS = Date.parse('2026-03-01T10:00:00Z');

describe('SiteDirectory', () => {
  it('accepts a replaced key until it expires, by the clock alone', async () => {
    let nowMs = START_MS;
    const log = new InMemoryLog(() => nowMs);
    const secrets = { ensureDedupSecret: async () => {}, dedupSecret: async () => 'secret' } as unknown as SiteSecrets;
    const commands = siteCommandDispatcher(new SiteRepository(log), secrets);
    await commands.execute(new AddSite('cli', HOST, []));
    const old = await commands.execute(new IssueKey('cli', HOST, 'CRM', false));
    const expiresAt = new Date(START_MS + 3_600_000).toISOString();
    const current = await commands.execute(new RotateKey('cli', HOST, old.id, expiresAt));
    const directory = new SiteDirectory(log, secrets, {
      authFailureLimit: 20,
      authFailureWindowMs: 60_000,
      instance: 'one',
      clock: { nowMs: () => nowMs },
    });
    await directory.start();
    const accepts = () =>
      [old, current].map(({ key }) => directory.checkKey(directory.find(HOST) as LoadedSite, key).ok);
    nowMs = START_MS + 3_599_999;
    expect(accepts()).toEqual([true, true]);
    nowMs += 1;
    expect(accepts()).toEqual([false, true]);
    expect(await log.read({ categories: [AUTH] })).toMatchObject([{ data: { reason: 'expired' } }]);
    await log.close();
  });
});
