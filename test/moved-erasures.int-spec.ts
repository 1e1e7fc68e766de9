import { hash, randomUUID } from 'node:crypto';
import { allProjections } from '../src/app/projections.js';
import { Sealer } from '../src/kernel/sealing.js';
import { beginDeparture } from '../src/moves/departures.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import { type CliResult, type FlakyProxy, runIn, startCells, startFlakyProxy, type TestCell } from './support/cells.js';
import { SECRET_KEY } from './support/secret-key.js';
import { type Operator, post, send, type TestSite } from './support/service.js';
import { eventually } from './support/waiting.js';

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36';

let a: TestCell;
let b: TestCell;
/** Administrators of cell a, and of cell b. */
let operator: Operator;
let other: Operator;
let site: TestSite;
let proxy: FlakyProxy;

beforeAll(async () => {
  [a, b] = await startCells({ INBOUND_DEADLINE: '1s' });
  ({ operator } = a);
  other = b.operator;
});
afterAll(async () => {
  for (const cell of [a, b]) await cell?.stop();
});
beforeEach(async () => {
  site = await operator.openSite();
  await a.service.refreshSites();
  proxy = await startFlakyProxy(b.admin.url);
});
afterEach(() => proxy.stop());

const buy = async (cell: TestCell, name: string, orderId: string) => {
  const order = { event: 'purchase', email: `${name}@example.com`, value: 5, currency: 'EUR', orderId };
  expect(await post(cell.service, site, order)).toMatchObject({ status: 200 });
};
const erase = (cell: TestCell, name: string, ...options: string[]) =>
  cell.cli('visitors', 'erase', '--email', `${name}@example.com`, '--site', site.host, '--yes', ...options);
const move = (stop?: AbortSignal) =>
  runIn({ ...a.env, CELLS: `b=${proxy.url}` }, ['sites', 'move', site.host, '--to', 'b', '--yes'], stop);

/** Orders whose personal parts a cell has. */
async function known(of: Operator): Promise<string[]> {
  const { rows } = await of.postgres.pool.query<{ reference: string }>(
    `SELECT e.reference FROM cc.events e JOIN cc.personal p USING (position)
      WHERE e.site = $1 AND e.type = 'conversion.received.v1' ORDER BY 1`,
    [site.host],
  );
  return rows.map(({ reference }) => reference);
}

/** A connection of before a restart of the server may be used first. */
const isUp = (of: Operator) =>
  eventually(
    () => of.log.head().catch(() => undefined),
    (head) => head !== undefined,
  );

async function expectEnded(): Promise<void> {
  const { rows } = await operator.postgres.pool.query(
    `SELECT done FROM cc.site_moves WHERE site = $1 AND direction = 'out'`,
    [site.host],
  );
  expect(rows).toEqual([{ done: true }]);
  for (const cell of [a, b]) {
    const { out, error } = await cell.cli('history', 'verify', '--json');
    const { checks } = JSON.parse(out || `{"checks":"${error}"}`);
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  }
}

describe('erasures of a site that moves', () => {
  it('reach the other cell also if they are made while it opens the site, and after that', async () => {
    for (const name of ['jane', 'joe', 'jim']) await buy(a, name, name);
    let said = '';
    proxy.onCall = async (path) => {
      if (path.endsWith('/open')) said = (await erase(a, 'jane')).error;
    };
    proxy.onAnswer = async (path) => {
      if (path.endsWith('/open')) await erase(a, 'joe');
    };
    expect(await move()).toMatchObject({ code: 0 });
    expect(said).toContain(`The move of ${site.host} to cell b erases the person there, too`);
    expect(await known(other)).toEqual(['jim']);
    await expectEnded();
    const later = await erase(a, 'jim');
    expect(later.error).toContain(`Cell b has a copy of ${site.host} from a move. Run the same command there.`);
    expect(await known(other)).toEqual(['jim']);
    const there: CliResult = await erase(b, 'jim', '--json');
    expect(JSON.parse(there.out)).toMatchObject({ alsoIn: ['a'] });
    const caller = await b.admin.signedIn('operator');
    const path = `/sites/${site.host}/erasures`;
    expect(await caller(path, { method: 'POST', body: { email: 'jim@example.com' } })).toMatchObject({
      ...{ status: 200, body: { alsoIn: ['a'] } },
    });
  });

  it('are told from filters that were removed meanwhile: the other cell deletes their values, and keeps the people', async () => {
    const set = (...options: string[]) => a.cli('sites', 'set', site.host, ...options);
    await buy(a, 'jane', 'jane');
    await set('--block', 'jane@example.com', '--block', 'joe@example.com', '--block-ip', '192.0.2.0/24');
    proxy.onAnswer = async (path) => {
      if (!path.includes('/events')) return;
      proxy.onAnswer = async () => {};
      await set('--unset', 'block=jane@example.com', '--unset', 'block-ip');
    };
    expect(await move()).toMatchObject({ code: 0 });
    expect(await known(other)).toEqual(['jane']);
    const { rows } = await other.postgres.pool.query(
      `SELECT encode(p.subject, 'hex') AS subject FROM cc.personal p JOIN cc.events e USING (position)
        WHERE e.site = $1 AND e.category = 'site'`,
      [site.host],
    );
    expect(rows).toEqual([{ subject: hash('sha256', 'joe@example.com') }]);
    await expectEnded();
  });

  it('reach the other cell by the next run, if the command ended after the switch', async () => {
    for (const name of ['jane', 'joe']) await buy(a, name, name);
    const stop = new AbortController();
    proxy.onAnswer = async (path) => {
      if (path.endsWith('/open')) stop.abort();
    };
    expect(await move(stop.signal)).toMatchObject({ code: 130 });
    await erase(a, 'jane');
    expect(await known(other)).toEqual(['jane', 'joe']);
    proxy.onAnswer = async () => {};
    expect(await move()).toMatchObject({ code: 0 });
    expect(await known(other)).toEqual(['joe']);
    await expectEnded();
  });

  it('do not concern what the same person bought afterwards', async () => {
    await buy(a, 'jane', 'before');
    let isCopied = false;
    proxy.onAnswer = async (path) => {
      if (isCopied || !path.endsWith('/events')) return;
      isCopied = true;
      await erase(a, 'jane');
      await buy(a, 'jane', 'after');
    };
    expect(await move()).toMatchObject({ code: 0 });
    expect(await known(other)).toEqual(['after']);
    await expectEnded();
  });

  it('do not concern later purchases if the command is killed before the other cell has carried one out', async () => {
    await buy(a, 'jane', 'before');
    let pages = 0;
    proxy.onAnswer = async (path) => {
      if (!path.endsWith('/events')) return;
      pages += 1;
      if (pages !== 1) return;
      await erase(a, 'jane');
      await buy(a, 'jane', 'after');
    };
    proxy.isLost = (path) => pages === 2 && path.endsWith('/events');
    const stop = new AbortController();
    proxy.onBroken = () => stop.abort();
    expect(await move(stop.signal)).toMatchObject({ code: 130 });
    proxy.isLost = () => false;
    expect(await move()).toMatchObject({ code: 0 });
    expect(await known(other)).toEqual(['after']);
    await expectEnded();
  });

  it('also delete dedup claims that were made from the events', async () => {
    await buy(a, 'joe', 'joe');
    const claims = async (of: Operator) =>
      (await of.postgres.pool.query('SELECT key FROM cc.dedup WHERE site = $1 ORDER BY key', [site.host])).rows;
    let isBought = false;
    let isErased = false;
    proxy.onAnswer = async (path) => {
      if (path.endsWith('/events') && !isBought) {
        isBought = true;
        const order = { event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR' };
        expect(await post(a.service, site, order)).toMatchObject({ status: 200 });
      } else if (path.endsWith('/events') && !isErased) {
        isErased = true;
        expect(await claims(other)).toHaveLength(2);
        await erase(a, 'jane');
      }
    };
    expect(await move()).toMatchObject({ code: 0 });
    expect(isErased).toBe(true);
    expect(await claims(other)).toEqual(await claims(operator));
    expect(await claims(other)).toHaveLength(1);
    await expectEnded();
  });

  it('are repeated in a cell that was rolled back meanwhile', async () => {
    await buy(a, 'jane', 'jane');
    let restore: (() => Promise<void>) | undefined;
    let isErased = false;
    let isRestored = false;
    proxy.onAnswer = async (path) => {
      if (path.endsWith('/events') && !restore) {
        restore = await b.server.backUp();
        await isUp(other);
        await erase(a, 'jane');
        await buy(a, 'jane', 'after');
      } else if (path.endsWith('/erased')) isErased = true;
      else if (path.endsWith('/events') && isErased && !isRestored) {
        isRestored = true;
        await restore?.();
      }
    };
    expect(await move()).toMatchObject({ code: 0 });
    expect(isRestored).toBe(true);
    await isUp(other);
    expect(await known(other)).toEqual(['after']);
    await expectEnded();
  });

  it('are made up for by the next move, if they were made after a cancelled one', async () => {
    for (const name of ['jane', 'joe']) await buy(a, name, name);
    const stop = new AbortController();
    proxy.onAnswer = async (path) => {
      if (path.endsWith('/events')) stop.abort();
    };
    expect(await move(stop.signal)).toMatchObject({ code: 130 });
    expect(await a.cli('sites', 'move', site.host, '--cancel')).toMatchObject({ code: 0 });
    expect(JSON.parse((await erase(a, 'jane', '--json')).out)).toMatchObject({ alsoIn: ['b'] });
    await buy(a, 'jane', 'after');
    expect(await known(other)).toEqual(['jane', 'joe']);
    proxy.onAnswer = async () => {};
    expect(await move()).toMatchObject({ code: 0 });
    expect(await known(other)).toEqual(['after', 'joe']);
    await expectEnded();
  });

  it('are made up for when the site comes back to a cell that has its events', async () => {
    for (const name of ['jane', 'joe']) await buy(a, name, name);
    expect(await move()).toMatchObject({ code: 0 });
    await b.service.refreshSites();
    await erase(b, 'jane');
    await buy(b, 'jane', 'after');
    expect(await known(operator)).toEqual(['jane', 'joe']);
    expect(await b.cli('sites', 'move', site.host, '--to', 'a', '--yes')).toMatchObject({ code: 0 });
    expect(await known(operator)).toEqual(['after', 'joe']);
  });

  it('name every cell that has a copy, and a move to another cell waits for the end of one that has begun', async () => {
    await buy(a, 'jane', 'jane');
    // Left by a command that was interrupted while it copied.
    const progress = { site: site.host, epoch: 1, cell: 'c', events: 1, total: 1 };
    expect(await beginDeparture(operator.postgres, progress, false)).toBe(true);
    await expect(beginDeparture(operator.postgres, { ...progress, cell: 'b' }, false)).rejects.toThrow('to cell c');
    const refused = await move();
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining(`"sites move ${site.host} --cancel"`) });
    const begun = await other.postgres.pool.query('SELECT FROM cc.site_moves WHERE site = $1', [site.host]);
    expect(begun.rowCount).toBe(0);
    expect(await a.cli('sites', 'move', site.host, '--cancel')).toMatchObject({ code: 0 });
    expect(await move()).toMatchObject({ code: 0 });
    expect(JSON.parse((await erase(a, 'jane', '--json')).out)).toMatchObject({ alsoIn: ['b', 'c'] });
    expect(JSON.parse((await erase(b, 'jane', '--json')).out)).toMatchObject({ alsoIn: ['a', 'c'] });
  });

  it('leave later visits of a visitor whose first one has expired', async () => {
    const visit = async (cookie?: string) => {
      const clicks = { gclid: { id: 'Gclid_One' } };
      const message = { v: 1, visit: randomUUID(), visitor: randomUUID(), clicks, page: `https://${site.host}/` };
      const reply = await send(a.service, {
        ...{ path: '/__cc/collect', method: 'POST', body: JSON.stringify(message) },
        headers: {
          ...{ host: site.host, origin: `https://${site.host}`, 'content-type': 'text/plain', 'user-agent': BROWSER },
          ...(cookie && { cookie }),
        },
      });
      return String(reply.headers['set-cookie']).split(';')[0];
    };
    const visits = async (of: Operator) =>
      (
        await of.postgres.pool.query<{ position: number; has: boolean }>(
          `SELECT e.position::float8 AS position, p.position IS NOT NULL AS has FROM cc.events e LEFT JOIN cc.personal p USING (position)
            WHERE e.site = $1 AND e.type = 'visitor.visited.v1' ORDER BY e.position`,
          [site.host],
        )
      ).rows;
    const cookie = await visit();
    await visit(cookie);
    const [first] = await visits(operator);
    const secrets = new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
    const erasure = new Erasure(operator.postgres, allProjections(secrets), async () => {});
    let isCopied = false;
    proxy.onAnswer = async (path) => {
      if (isCopied || !path.endsWith('/events')) return;
      isCopied = true;
      await erasure.expireVisits([first?.position as number]);
    };
    expect(await move()).toMatchObject({ code: 0 });
    expect((await visits(operator)).map(({ has }) => has)).toEqual([false, true]);
    expect((await visits(other)).map(({ has }) => has)).toEqual([false, true]);
    await expectEnded();
  });
});
