import { join } from 'node:path';
import { startService } from '../src/app/service.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { recordKey, WrongSecretKey } from '../src/sites/keys/key-check.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { commandLine } from './support/command-line.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';

const [KEY, OTHER] = ['ab'.repeat(32), 'cd'.repeat(32)];
const REFUSAL = new WrongSecretKey().message;

const folder = temporaryFolder('cc-secret-key-');
let databaseUrl: string;
let postgres: Postgres;

beforeEach(async () => {
  databaseUrl = await createDatabase();
  postgres = await openDatabase(databaseUrl);
});
afterEach(() => postgres.close());

const sealerOf = (key: string, previous?: string) =>
  new Sealer(Buffer.from(key, 'hex'), previous === undefined ? undefined : Buffer.from(previous, 'hex'));

async function startAndStop(key: string, more: Record<string, string> = {}): Promise<void> {
  const environment = { PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: databaseUrl, SECRET_KEY: key, DATA_DIR: folder };
  const { app } = await startService(readSettings({ ...environment, ...more }));
  await app.close();
}

async function cli(command: string, key: string, more: Record<string, string> = {}) {
  const env = { DATABASE_URL: databaseUrl, SECRET_KEY: key, DATA_DIR: join(folder, 'data'), PORT: '0', ...more };
  const { code, stdout, stderr } = await commandLine(env).run(command, '--json');
  return { code, printed: stdout === '' ? undefined : JSON.parse(stdout), stderr: stderr.trim() };
}

/** Everything that a command could have written: sealed rows and events. */
async function written(): Promise<unknown> {
  const { rows } = await postgres.pool.query(
    `SELECT (SELECT json_agg(s ORDER BY s.site, s.name) FROM cc.secrets s) AS secrets,
            (SELECT sum(position) FROM cc.events) AS events`,
  );
  return rows[0];
}

describe('SECRET_KEY', () => {
  it('of the first start is the key of the database: the command line is refused with another one', async () => {
    await startAndStop(KEY);
    const before = await written();
    for (const command of [
      'sites add shop.example',
      'sites list',
      'history checkpoint',
      'visitors erase --site shop.example --email jane@example.com',
    ]) {
      expect(await cli(command, OTHER)).toEqual({ code: 1, printed: undefined, stderr: REFUSAL });
    }
    expect(await written()).toEqual(before);
    expect(await cli('sites add shop.example', KEY)).toMatchObject({ code: 0 });
  });

  it('of the first command that seals something is the key of the database: the service is refused with another one', async () => {
    expect(await cli('sites list', OTHER)).toMatchObject({ code: 0, printed: [] });
    expect(await cli('sites add shop.example', KEY)).toMatchObject({ code: 0 });
    const before = await written();
    await expect(startAndStop(OTHER)).rejects.toThrow(WrongSecretKey);
    expect(await written()).toEqual(before);
    await startAndStop(KEY);
  });

  it('is recorded once by processes that start at the same time, and the others are refused', async () => {
    const attempts = await Promise.allSettled(
      [KEY, OTHER, KEY, OTHER].map((key) => recordKey(postgres.pool, sealerOf(key))),
    );
    const refused = attempts.map((attempt) => (attempt.status === 'rejected' ? attempt.reason.message : 'recorded'));
    expect([
      ['recorded', REFUSAL, 'recorded', REFUSAL],
      [REFUSAL, 'recorded', REFUSAL, 'recorded'],
    ]).toContainEqual(refused);
  });

  it('of an installation without a recorded key must open what it sealed', async () => {
    await new SiteSecrets(postgres.pool, sealerOf(KEY)).ensureDedupSecret('shop.example');
    await new SiteSecrets(postgres.pool, sealerOf(KEY)).ensureDedupSecret('other.example');
    await postgres.pool.query(`DELETE FROM cc.secrets WHERE name = 'key-check'`);
    const before = await written();
    await expect(startAndStop(OTHER)).rejects.toThrow(WrongSecretKey);
    expect(await cli('sites list', OTHER)).toMatchObject({ code: 1, stderr: REFUSAL });
    expect(await written()).toEqual(before);
    await recordKey(postgres.pool, sealerOf(KEY));
    expect(await written()).not.toEqual(before);
    await expect(recordKey(postgres.pool, sealerOf(OTHER))).rejects.toThrow(WrongSecretKey);
  });

  it('is changed only with the previous key, and wholly: list of erasures, signing key and secrets', async () => {
    const ERASURE_LIST = join(folder, 'list', 'erasures');
    const erase = 'visitors erase --site shop.example --email jane@example.com';
    await cli('sites add shop.example', KEY);
    expect(await cli(erase, KEY, { ERASURE_LIST })).toMatchObject({ code: 0 });
    await cli('history checkpoint', KEY);
    const rotating = { ERASURE_LIST, SECRET_KEY_PREVIOUS: KEY };
    const findings = async () => {
      const { printed } = await cli('doctor', OTHER, rotating);
      return printed.checks.find(({ name }: { name: string }) => name === 'secrets');
    };
    // The site's secret, the signing key, the key check, and one erasure: when it begins and when it is done.
    expect(await findings()).toMatchObject({
      detail: '0 sealed with SECRET_KEY, 5 with SECRET_KEY_PREVIOUS',
      fix: expect.stringMatching(/^Restart the service.*Keep SECRET_KEY_PREVIOUS until then\.$/),
    });
    await startAndStop(OTHER, rotating);
    expect(await findings()).toMatchObject({
      detail: '5 sealed with SECRET_KEY, 0 with SECRET_KEY_PREVIOUS',
      fix: `Remove SECRET_KEY_PREVIOUS: neither the database nor ${ERASURE_LIST} needs it.`,
    });
    // As doctor says, without the previous key.
    expect(await cli('visitors erase --rerun', OTHER, { ERASURE_LIST })).toMatchObject({
      code: 0,
      printed: { people: 1 },
    });
    expect(await cli('history checkpoint', OTHER)).toMatchObject({ code: 0 });
    await startAndStop(OTHER);
    expect(await cli('sites list', KEY)).toMatchObject({ code: 1, stderr: REFUSAL });
  });

  it('that is wrong is named by doctor, which shows everything else', async () => {
    await recordKey(postgres.pool, sealerOf(KEY));
    const { code, printed } = await cli('doctor', OTHER);
    expect(code).toBe(1);
    const failed = printed.checks.filter(({ ok }: { ok: boolean }) => !ok);
    expect(failed).toEqual([{ name: 'secrets', ok: false, detail: REFUSAL, fix: expect.any(String) }]);
  });

  it('seals erasures in a data folder that does not exist yet', async () => {
    await cli('sites add shop.example', KEY);
    const DATA_DIR = join(folder, 'not', 'there', 'yet');
    const erased = await cli('visitors erase --site shop.example --email jane@example.com', KEY, { DATA_DIR });
    expect(erased).toMatchObject({ code: 0, printed: { site: 'shop.example', events: 0 } });
    expect(await cli('visitors erase --rerun', KEY, { DATA_DIR })).toMatchObject({ printed: { people: 1 } });
  });
});
