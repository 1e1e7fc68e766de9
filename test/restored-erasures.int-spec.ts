import { hash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { commandLine } from './support/command-line.js';
import { copyDatabase, createDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';
import { type Operator, openOperator, post, startTestService, type TestSite } from './support/service.js';
import { callTag } from './support/tag-calls.js';

const JANE = 'jane@example.com';
const folder = temporaryFolder('cc-restored-erasures-');

/** What a command prints. */
function run(databaseUrl: string, command: string) {
  return commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY, ERASURE_LIST: join(folder, 'erasures') }).json(command);
}

async function withService<Result>(
  databaseUrl: string,
  work: (did: Did, operator: Operator) => Promise<Result>,
): Promise<Result> {
  const operator = await openOperator(databaseUrl);
  const service = await startTestService(databaseUrl, { TRUSTED_PROXIES: '127.0.0.1' });
  const headers = { 'X-Forwarded-Proto': 'https' };
  const did: Did = {
    refresh: () => service.refreshSites(),
    async identified(site, visitor, click) {
      const clicks = { gclid: { id: click, t: Date.now() } };
      const reply = await callTag(service, site, 'identify', { visitor, hash: hash('sha256', JANE), clicks });
      expect(reply.status).toBe(204);
    },
    async bought(site, event) {
      const reply = await post(service, site, { email: JANE, event, value: 5, currency: 'EUR' }, { headers });
      return JSON.parse(reply.body);
    },
  };
  try {
    return await work(did, operator);
  } finally {
    await service.stop();
    await operator.close();
  }
}

interface Did {
  refresh(): Promise<void>;
  identified(site: TestSite, visitor: string, click: string): Promise<void>;
  bought(site: TestSite, event: string): Promise<{ deduped?: true }>;
}

const personal = async ({ log }: Operator, { host }: TestSite) =>
  (await log.read({ site: host, categories: ['visitor', 'conversion'] }))
    .filter(({ personal }) => personal !== null)
    .map(({ position, type }) => ({ isAfter: position >= 1_000_000_000, type }));

describe('visitors erase --rerun on a restored database', () => {
  it('erases what the person did up to the erasure, and nothing that followed', async () => {
    const url = await createDatabase();
    const [first, second] = [randomUUID(), randomUUID()];
    const site = await withService(url, async (did, operator) => {
      const opened = await operator.openSite();
      await did.refresh();
      await did.identified(opened, first, 'before-one');
      await did.identified(opened, second, 'before-two');
      await did.bought(opened, 'lead');
      return opened;
    });
    await run(url, `visitors consent ${JANE} granted --site ${site.host}`);
    const restored = await copyDatabase(url);
    const person = `--site ${site.host} --email ${JANE}`;
    expect(await run(url, `visitors erase ${person}`)).toMatchObject({ events: 4, claims: 1 });

    await withService(restored, async (did, operator) => {
      expect(await did.bought(site, 'lead')).toMatchObject({ deduped: true });
      expect(await did.bought(site, 'signup')).not.toHaveProperty('deduped');
      await did.identified(site, first, 'after');
      const erased = await run(restored, 'visitors erase --rerun');
      expect(erased).toMatchObject({ people: 1, events: 4, claims: 1 });
      expect(await personal(operator, site)).toEqual([
        { isAfter: true, type: 'conversion.deduplicated.v1' },
        { isAfter: true, type: 'conversion.received.v1' },
        { isAfter: true, type: 'visitor.identified.v1' },
      ]);
      const printed = await run(restored, `visitors show ${person}`);
      expect(printed).toMatchObject({ clicks: { gclid: { id: 'after' } }, visitors: [{}], statements: [] });
      expect(JSON.stringify(printed)).not.toContain('before');
      // Its claim was made from the person before the erasure, and the other one after it.
      expect(await did.bought(site, 'lead')).not.toHaveProperty('deduped');
      expect(await did.bought(site, 'signup')).toMatchObject({ deduped: true });
      expect(await run(restored, 'visitors erase --rerun')).toMatchObject({ events: 0, identifiers: 0 });
    });
    await run(restored, 'history verify');
  });

  it('ends blocks of the person from before the erasure, and keeps one that was set since', async () => {
    const url = await createDatabase();
    const [before, since] = await withService(url, async (_, operator) => {
      const sites = [await operator.openSite(), await operator.openSite()] as const;
      await operator.set(sites[0].host, 'block', JANE);
      return sites;
    });
    const restored = await copyDatabase(url);
    for (const { host } of [before, since]) await run(url, `visitors erase --site ${host} --email ${JANE}`);
    await withService(restored, async (_, operator) => {
      await operator.set(since.host, 'block', JANE);
      await run(restored, 'visitors erase --rerun');
      const blocked = async ({ host }: TestSite) => (await run(restored, `sites show ${host}`)).settings?.blocked;
      expect([await blocked(before), await blocked(since)]).toEqual([[], [hash('sha256', JANE)]]);
    });
    await run(restored, 'history verify');
  });
});
