import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import 'reflect-metadata';
import { readFile } from '../src/admin/jobs/read-file.js';
import { AppModule } from '../src/app/app.module.js';
import { ManagementCleaning } from '../src/app/management-cleaning.js';
import type { FormatName } from '../src/history/export-formats.js';
import { type Job, type JobRequest, jobDocument } from '../src/jobs/job.js';
import { JobRun } from '../src/jobs/job-run.js';
import { type Execute, JobRunner } from '../src/jobs/job-runner.js';
import { JobLost, JobStore } from '../src/jobs/job-store.js';
import { type JobDependencies, runJob } from '../src/jobs/run-job.js';
import type { Logger } from '../src/kernel/logger.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { AddSite } from '../src/sites/site.commands.js';
import { siteCommandDispatcher } from '../src/sites/site-command-handlers.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { useLog } from './support/databases.js';
import { SECRET_KEY } from './support/secret-key.js';
import { storeConversion } from './support/stored-conversion.js';
import { eventually } from './support/waiting.js';

const SITE = 'shop.example';
/** More than a page of any format. */
const EVENTS = 11_000;
/** Longer than in production, so that a busy machine does not end a run. */
const LEASE_MS = 300_000;
const QUIET = { warn: () => {}, error: () => {} };

const { databaseUrl, postgres, log } = await useLog();
const secrets = new SiteSecrets(postgres.pool, new Sealer(Buffer.alloc(32)));
const sites = new SiteRepository(log);
const settings = readSettings({ DATABASE_URL: databaseUrl, SECRET_KEY });
const dependencies: JobDependencies = { settings, postgres, log, sites, secrets };
const store = new JobStore(postgres, undefined, LEASE_MS);
/** Position of the last event that exports contain: each job is an event, too. */
let until: number;

beforeAll(async () => {
  await siteCommandDispatcher(sites, secrets).execute(new AddSite('cli', SITE, []));
  const event = { type: 'test.counted.v1', data: { text: 'one, "two"' } };
  for (let stored = 0; stored < EVENTS; stored += 500) {
    const events = Array.from({ length: 500 }, () => event) as unknown as [typeof event];
    await log.append({ category: 'test', stream: randomUUID(), expected: 'new', site: SITE, actor: 'system', events });
  }
  until = await log.head();
});
afterEach(async () => {
  await dependencies.postgres.pool.query('DELETE FROM cc.jobs');
});

async function newExport(format: FormatName = 'ndjson') {
  const request: JobRequest = { kind: 'export', format, after: 0, until };
  return store.create(SITE, 'user:ada', request);
}

const execute: Execute = (job, run) => runJob(dependencies, job, run);
const clockAt = (monotonicMs: number) => dependencies.postgres.clock.at(monotonicMs);

async function claim(from = store) {
  const taken = await from.claim();
  if (!taken) throw new Error('No job was free');
  return taken;
}

/** As after 20 seconds without a renewal. */
const endLeases = () => dependencies.postgres.pool.query(`UPDATE cc.jobs SET until = '-infinity'`);

async function digestOf(id: string): Promise<string> {
  const digest = createHash('sha256');
  const { bytes = 0 } = (await store.find(id)) ?? {};
  for await (const part of readFile(store, id, { start: 0, length: bytes })) digest.update(part);
  return `${bytes} ${digest.digest('hex')}`;
}

/** Runs jobs until `work` has finished. */
async function whileRunning(work: () => Promise<unknown>, run = execute, of = store): Promise<void> {
  const runner = new JobRunner(of, dependencies.postgres.clock, run, QUIET);
  runner.start(20);
  try {
    await work();
  } finally {
    await runner.stop();
  }
}

const inState = (id: string, state: string) =>
  eventually(
    () => store.find(id),
    (job) => job?.state === state,
  );

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Cannot reach the database to renew a lease, as a frozen process. */
class FrozenStore extends JobStore {
  override renew(): Promise<boolean> {
    return Promise.reject(new Error('frozen'));
  }
}

describe('jobs', () => {
  it.each(['csv', 'parquet'] as const)(
    'continue the %s file of a process that was frozen, which then writes no more',
    async (format) => {
      const whole = await newExport(format);
      await whileRunning(() => inState(whole.id, 'succeeded'));
      const expected = await digestOf(whole.id);

      const { id } = await newExport(format);
      const frozenStore = new FrozenStore(dependencies.postgres, undefined, LEASE_MS);
      const frozen = new JobRun(frozenStore, await claim(frozenStore), clockAt);
      const wake = gate();
      const asleep = gate();
      const save = frozen.save.bind(frozen);
      let saved = 0;
      frozen.save = async (...page) => {
        saved += 1;
        if (saved === 2) {
          asleep.open();
          await wake.opened;
        }
        await save(...page);
      };
      const outcome = execute(frozen.claim.job, frozen).then(
        () => 'finished',
        (error: unknown) => error,
      );
      await asleep.opened;
      await endLeases();
      await whileRunning(() => inState(id, 'succeeded'));
      wake.open();
      expect(await outcome).toBeInstanceOf(JobLost);
      await frozen.close();
      expect(await digestOf(id)).toBe(expected);
      expect(await store.find(id)).toMatchObject({ state: 'succeeded' });
    },
  );

  it('end a file once, also if the process dies before that is stored', async () => {
    const whole = await newExport('parquet');
    await whileRunning(() => inState(whole.id, 'succeeded'));
    const { id } = await newExport('parquet');
    const killed = new JobRun(store, await claim(), clockAt);
    await execute(killed.claim.job, killed);
    await killed.close();
    await endLeases();
    await whileRunning(() => inState(id, 'succeeded'));
    expect(await digestOf(id)).toBe(await digestOf(whole.id));
  });

  it('force a delivery once, also if the process dies before that is stored', async () => {
    const { log, sites, secrets } = dependencies;
    const settings = { pixel_id: '123456789012345', access_token: 'secret' };
    const meta = platformOf('meta') as Platform;
    await siteCommandDispatcher(sites, secrets).execute(new ConnectPlatform('cli', SITE, meta, { set: settings }));
    const outcomes = [{ status: 'delivered', httpStatus: 200 }] as const;
    const conversion = await storeConversion(log, { site: SITE, orderId: 'ORD-1', settings, outcomes });
    const request = { kind: 'replay', platform: 'meta', range: { conversion }, statuses: ['failed'] } as const;
    const { id } = await store.create(SITE, 'user:ada', { ...request, force: true, dryRun: false });
    const killed = new JobRun(store, await claim(), clockAt);
    expect(await execute(killed.claim.job, killed)).toMatchObject({ requested: 1 });
    await killed.close();
    await endLeases();
    await whileRunning(() => inState(id, 'failed'));
    const requests = (await log.readStream('conversion', conversion)).filter(
      ({ type }) => type === 'conversion.send_requested.v1',
    );
    expect(requests).toMatchObject([{ actor: 'user:ada' }]);
  });

  it('are run by one process at a time', async () => {
    await newExport();
    const claims = await Promise.all([store.claim(), store.claim(), store.claim()]);
    expect(claims.filter(Boolean)).toHaveLength(1);
    await endLeases();
    expect(await store.claim()).toBeDefined();
  });

  it('fail after three processes that ran them have died', async () => {
    const { id } = await newExport();
    for (let died = 0; died < 3; died += 1) {
      await claim();
      await endLeases();
    }
    expect(await store.claim()).toBeUndefined();
    await store.clean();
    expect(await store.find(id)).toMatchObject({
      state: 'failed',
      reason: 'It was interrupted 3 times without getting further.',
    });
  });

  it('do not fail while they get further, however often processes die', async () => {
    const { id } = await newExport();
    for (let died = 0; died < 5; died += 1) {
      const run = new JobRun(store, await claim(), clockAt);
      await run.save(Buffer.from('page'), { position: died + 1, events: died + 1 });
      await run.close();
      await endLeases();
    }
    for (let died = 0; died < 2; died += 1) {
      const run = new JobRun(store, await claim(), clockAt);
      await run.save(Buffer.from('again'), { position: 5, events: 5 });
      await run.close();
      await endLeases();
    }
    expect(await store.claim()).toBeUndefined();
    await store.clean();
    expect(await store.find(id)).toMatchObject({ state: 'failed' });
  });

  it('end when they are cancelled, and are given back when the process stops', async () => {
    const endless: Execute = async (_, run) => {
      for (;;) {
        run.report(1, 1);
        await sleep(5);
      }
    };
    const cancelled = await newExport();
    const givenBack = await newExport();
    await whileRunning(async () => {
      await inState(givenBack.id, 'running');
      await store.cancel(cancelled, 'user:ada');
      await inState(cancelled.id, 'cancelled');
    }, endless);
    expect(await store.find(givenBack.id)).toMatchObject({ state: 'queued', claims: 0 });
    await store.cancel(givenBack, 'user:ada');
    expect(await store.find(givenBack.id)).toMatchObject({ state: 'cancelled' });
  });

  it('are cancelled also if the file was complete before that was noticed', async () => {
    const { id } = await newExport();
    const taken = await claim();
    await store.cancel({ id, site: SITE }, 'user:ada');
    await store.finish(taken, 'succeeded', { result: {} });
    expect(await store.find(id)).toMatchObject({ state: 'cancelled', fileUntil: null, bytes: 0 });
  });

  it('that were cancelled before they started leave their dry run to another one', async () => {
    const request = {
      ...{ kind: 'replay', platform: 'meta', range: { after: 0, until: 1 }, statuses: ['failed'] },
      ...{ force: false, dryRun: false },
    } as const;
    const dryRun = uuidv7();
    const { id } = await store.create(SITE, 'user:ada', request as JobRequest, dryRun);
    await expect(store.create(SITE, 'user:ada', request as JobRequest, dryRun)).rejects.toThrow('already');
    await store.cancel({ id, site: SITE }, 'user:ada');
    const other = await store.create(SITE, 'user:ada', request as JobRequest, dryRun);
    await claim();
    await store.cancel(other, 'user:ada');
    await expect(store.create(SITE, 'user:ada', request as JobRequest, dryRun)).rejects.toThrow('already');
    await endLeases();
    await store.clean();
  });

  it('say at last what interrupted them', async () => {
    const { id } = await newExport();
    for (let tries = 0; tries < 3; tries += 1) await store.release(await claim(), 'The database took too long.');
    await store.clean();
    expect(await store.find(id)).toMatchObject({
      state: 'failed',
      reason: 'It was interrupted 3 times without getting further. The database took too long.',
    });
  });

  it('forget what interrupted them when they get further, and do not show it while they run', async () => {
    const { id } = await newExport();
    await store.release(await claim(), 'The database took too long.');
    const run = new JobRun(store, await claim(), clockAt);
    const stored = async () => (await store.find(id)) as Job;
    expect(jobDocument(await stored())).not.toHaveProperty('reason');
    expect(await stored()).toMatchObject({ reason: 'The database took too long.' });
    await run.save(Buffer.from('page'), { position: 1, events: 1 });
    await run.close();
    expect(await stored()).toMatchObject({ reason: null });
    for (let died = 0; died < 2; died += 1) {
      await endLeases();
      await claim();
    }
    await endLeases();
    await store.clean();
    expect(await stored()).toMatchObject({ reason: 'It was interrupted 3 times without getting further.' });
  });

  it('lose their files, or start again, when a person of the site is erased', async () => {
    const { pool } = dependencies.postgres;
    const whole = await newExport();
    await whileRunning(() => inState(whole.id, 'succeeded'));
    const expected = await digestOf(whole.id);
    const { id } = await newExport();
    const run = new JobRun(store, await claim(), clockAt);
    await run.save(Buffer.from('about the person'), { position: 1, events: 1 });
    await store.deleteExports(SITE);
    expect(await store.find(whole.id)).toMatchObject({
      ...{ state: 'succeeded', fileUntil: null, bytes: 0 },
      reason: expect.stringContaining('erased'),
    });
    expect((await pool.query('SELECT FROM cc.job_chunks')).rowCount).toBe(0);
    await expect(run.save(Buffer.from('read before'), { position: 2, events: 2 })).rejects.toThrow(JobLost);
    await run.close();
    await whileRunning(() => inState(id, 'succeeded'));
    expect(await digestOf(id)).toBe(expected);
  });

  it('fail with the reason when people of the site are erased again and again', async () => {
    const { id } = await newExport();
    for (let erased = 0; erased < 6; erased += 1) {
      expect(await store.find(id)).toMatchObject({ state: 'queued' });
      const run = new JobRun(store, await claim(), clockAt);
      await run.save(Buffer.from('about a person'), { position: 1, events: 1 });
      await store.deleteExports(SITE);
      await run.close();
    }
    expect(await store.find(id)).toMatchObject({
      ...{ state: 'failed', bytes: 0, finishedAt: expect.any(Date) },
      reason: expect.stringContaining('was erased 6 times while it ran'),
    });
    expect(await store.claim()).toBeUndefined();
  });

  it('are cleaned by the service, which runs also without the management API', async () => {
    const { id } = await newExport();
    await whileRunning(() => inState(id, 'succeeded'));
    const { postgres } = dependencies;
    await postgres.pool.query(`UPDATE cc.jobs SET file_until = file_until - interval '25 hours'`);
    expect(Reflect.getMetadata('providers', AppModule)).toContain(ManagementCleaning);
    await new ManagementCleaning(postgres, new Sealer(Buffer.alloc(32)), QUIET as unknown as Logger).clean();
    expect(await store.find(id)).toMatchObject({ fileUntil: null, bytes: 0 });
  });

  it('of a process that died are cancelled without that process', async () => {
    const { id } = await newExport();
    await claim();
    await store.cancel({ id, site: SITE }, 'user:ada');
    expect(await store.find(id)).toMatchObject({ state: 'running' });
    await endLeases();
    await store.clean();
    expect(await store.find(id)).toMatchObject({ state: 'cancelled' });
  });

  it('that were given back after a cancellation are cancelled by the next one', async () => {
    const { id } = await newExport();
    const held = await claim();
    await store.cancel({ id, site: SITE }, 'user:ada');
    await store.release(held, false);
    expect(await store.find(id)).toMatchObject({ state: 'queued' });
    await store.cancel({ id, site: SITE }, 'user:ada');
    expect(await store.find(id)).toMatchObject({ state: 'cancelled' });
  });

  it('fail with a file that is too large, which is deleted', async () => {
    const { id } = await newExport();
    const limits = { fileBytes: 1024 * 1024, totalBytes: 1024 * 1024 * 1024 };
    const small = new JobStore(dependencies.postgres, limits, LEASE_MS);
    await whileRunning(() => inState(id, 'failed'), execute, small);
    expect(await store.find(id)).toMatchObject({ reason: expect.stringContaining('1 MiB'), bytes: 0 });
    expect((await dependencies.postgres.pool.query('SELECT FROM cc.job_chunks')).rowCount).toBe(0);
  });

  it('lose their files after a day, and are forgotten after a week', async () => {
    const { id } = await newExport();
    await whileRunning(() => inState(id, 'succeeded'));
    const { pool } = dependencies.postgres;
    await pool.query(`UPDATE cc.jobs SET file_until = file_until - interval '25 hours'`);
    await store.clean();
    expect(await store.find(id)).toMatchObject({ state: 'succeeded', fileUntil: null, bytes: 0 });
    expect((await pool.query('SELECT FROM cc.job_chunks')).rowCount).toBe(0);
    await pool.query(`UPDATE cc.jobs SET finished_at = finished_at - interval '8 days'`);
    await store.clean();
    expect(await store.find(id)).toBeUndefined();
  });

  it('are given up when a site has many newer ones that have finished', async () => {
    const { pool } = dependencies.postgres;
    const insert = (site: string, count: number, finished: boolean) =>
      pool.query(
        `INSERT INTO cc.jobs (id, site, actor, request, state, created_at, finished_at)
         SELECT gen_random_uuid(), $1, 'cli', '{"kind":"export"}', $3, now(), CASE WHEN $4 THEN now() END
           FROM generate_series(1, $2)`,
        [site, count, finished ? 'succeeded' : 'queued', finished],
      );
    await insert(SITE, 201, true);
    await insert(SITE, 2, false);
    await insert('other.example', 201, true);
    await newExport();
    const { rows } = await pool.query(
      'SELECT site, finished_at IS NOT NULL AS finished, count(*)::int FROM cc.jobs GROUP BY 1, 2 ORDER BY 1, 2',
    );
    expect(rows).toEqual([
      { site: 'other.example', finished: true, count: 201 },
      { site: SITE, finished: false, count: 3 },
      { site: SITE, finished: true, count: 200 },
    ]);
  });

  it('are refused when too many wait', async () => {
    for (let created = 0; created < 10; created += 1) await newExport();
    await expect(newExport()).rejects.toThrow('Too many jobs wait');
    const request: JobRequest = { kind: 'export', format: 'csv', after: 0, until: 1 };
    expect(await store.create('other.example', 'user:ada', request)).toMatchObject({ state: 'queued' });
  });
});
