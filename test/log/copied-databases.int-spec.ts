import { Registry } from 'prom-client';
import { runCli } from '../../src/cli/run-cli.js';
import { FAILOVER_STREAM, LOG } from '../../src/events/log.events.js';
import { Logger } from '../../src/kernel/logger.js';
import { followLineage, isFollowed } from '../../src/log/lineage.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { FailoverWatch } from '../../src/operations/failover-watch.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { Collector } from '../support/collector.js';
import { copyDatabase, createDatabase, openDatabase } from '../support/databases.js';
import { thing } from '../support/event-log.contract.js';
import { SECRET_KEY } from '../support/secret-key.js';
import { verified } from '../support/site-copies.js';

async function within<Result>(
  databaseUrl: string,
  work: (log: PostgresEventLog, postgres: Postgres, messages: string[]) => Promise<Result>,
): Promise<Result> {
  const postgres = await openDatabase(databaseUrl);
  const messages: string[] = [];
  const log = new PostgresEventLog(postgres, { onMessage: (line) => messages.push(line) });
  try {
    return await work(log, postgres, messages);
  } finally {
    await log.close();
    await postgres.close();
  }
}

async function leap(databaseUrl: string) {
  const [stdout, stderr] = [new Collector(), new Collector()];
  const env = { DATABASE_URL: databaseUrl, SECRET_KEY };
  const code = await runCli(['history', 'leap', '--json'], { env, stdout, stderr });
  return { code, printed: JSON.parse(stdout.text || 'null'), error: stderr.text };
}

describe('a database that was copied on the same server', () => {
  it('continues at positions that the original cannot reach, and the original does not', async () => {
    const original = await createDatabase();
    await within(original, (log) => log.append(thing()));
    const copy = await copyDatabase(original);
    expect(await within(copy, (_, { pool }) => isFollowed(pool))).toBe(false);
    await within(copy, async (log, { pool }, messages) => {
      expect(await log.append(thing())).toMatchObject({ status: 'appended', position: 1_000_000_000 });
      expect(await log.append(thing())).toMatchObject({ position: 1_000_000_001 });
      expect(messages).toEqual([expect.stringContaining('positions continue at 1000000000')]);
      expect(await isFollowed(pool)).toBe(true);
    });
    await within(copy, async (log) => {
      expect(await log.append(thing())).toMatchObject({ position: 1_000_000_002 });
    });
    await within(original, async (log) => {
      expect(await log.append(thing())).toMatchObject({ position: 2 });
    });
    expect((await verified(copy)).get('chain')).toMatchObject({ ok: true });
  });

  it('starts at position 1 if the original has no events, also if a writer was connected to it', async () => {
    const template = await createDatabase();
    await within(template, async (_, postgres) => {
      const client = await postgres.connect('test');
      await followLineage(client, () => {});
      await client.end();
    });
    await within(await copyDatabase(template), async (log, _, messages) => {
      expect(await log.append(thing())).toMatchObject({ position: 1 });
      expect(messages).toEqual([]);
    });
  });
});

describe('history leap', () => {
  it('lets the log continue as after a restore, which is recorded once', async () => {
    const url = await createDatabase();
    await within(url, (log) => log.append(thing()));
    expect(await leap(url)).toMatchObject({ code: 0, printed: { continuesAt: 1_000_000_000 } });
    await within(url, async (log, postgres) => {
      for (let start = 0; start < 2; start += 1)
        await new FailoverWatch(postgres, log, new Logger('silent', { write: () => {} }), new Registry()).check();
      const recorded = await log.readStream(LOG, FAILOVER_STREAM);
      expect(recorded.map(({ position, data }) => ({ position, data }))).toEqual([
        { position: 1_000_000_000, data: expect.objectContaining({ kept: 1, continuesAt: 1_000_000_000 }) },
      ]);
    });
    expect(await leap(url)).toMatchObject({ code: 0, printed: { continuesAt: 2_000_000_000 } });
    await within(url, async (log) => {
      expect(await log.append(thing())).toMatchObject({ position: 2_000_000_000 });
    });
  });

  it('changes nothing in a log without events', async () => {
    const url = await createDatabase();
    expect(await leap(url)).toMatchObject({ code: 1, error: expect.stringContaining('The log has no events') });
    await within(url, async (log) => {
      expect(await log.append(thing())).toMatchObject({ position: 1 });
    });
  });
});
