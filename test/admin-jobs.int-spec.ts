import { type AdminReply, useAdmin } from './support/admin.js';
import { storeConversion } from './support/stored-conversion.js';
import { eventually } from './support/waiting.js';

const SITE = 'jobs.example';
const META = { pixel_id: '123456789012345', access_token: 'a-very-secret-token' };
const FAILED = { status: 'failed', reason: 'bad event', httpStatus: 400 } as const;

const admin = await useAdmin();
const { log } = admin;
const operator = await admin.signedIn('operator');
const { token } = await admin.withToken(operator, ['read', 'write']);
await operator.post('/sites', { host: SITE });
await operator.put(`/sites/${SITE}/connections/meta`, { settings: META });

const start = (body: object) => operator.post(`/sites/${SITE}/jobs`, body);

/** A job that has been carried out. */
async function finished(body: object) {
  const { status, body: job } = await start(body);
  expect([status, job.state]).toEqual([202, 'queued']);
  const isFinished = ({ state }: AdminReply['body']) => state !== 'queued' && state !== 'running';
  return eventually(async () => (await operator(`/jobs/${job.id}`)).body, isFinished);
}

const download = async (id: string, headers: Record<string, string> = {}, method = 'GET') => {
  const reply = await fetch(`${admin.url}/api/v1/jobs/${id}/file`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
};

describe('jobs of the management API', () => {
  it('export the events of a site to a file, which is downloaded in parts', async () => {
    await storeConversion(log, { site: SITE, orderId: 'ORD-1', settings: META, outcomes: [FAILED] });
    const job = await finished({ kind: 'export', types: ['conversion.received.v1', 'site.registered.v1'] });
    expect(job).toMatchObject({ state: 'succeeded', progress: { done: 1 }, result: { format: 'ndjson', events: 2 } });
    const whole = await download(job.id);
    expect(whole.status).toBe(200);
    expect(whole.headers.get('content-type')).toBe('application/x-ndjson');
    expect(Number(whole.headers.get('content-length'))).toBe(job.file.bytes);
    const events = whole.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ type, site }) => [type, site])).toEqual([
      ['site.registered.v1', SITE],
      ['conversion.received.v1', SITE],
    ]);
    const part = await download(job.id, { range: 'bytes=5-14' });
    expect([part.status, part.text]).toEqual([206, whole.text.slice(5, 15)]);
    expect(part.headers.get('content-range')).toBe(`bytes 5-14/${job.file.bytes}`);
    expect((await download(job.id, { range: 'bytes=999999999-' })).status).toBe(416);
    const head = await download(job.id, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), head.text]).toEqual([200, String(job.file.bytes), '']);
    const deleted = await operator.delete(`/jobs/${job.id}`);
    expect(deleted.body).toMatchObject({ state: 'succeeded' });
    expect(deleted.body.file).toBeUndefined();
    expect((await download(job.id)).status).toBe(404);
  });

  it('export a row for each conversion that matches, without the email in an order', async () => {
    await storeConversion(log, { site: SITE, orderId: 'ORD-T1', settings: META, outcomes: [FAILED] });
    await storeConversion(log, { site: SITE, orderId: 'ORD-T2', settings: META, outcomes: [{ status: 'delivered' }] });
    const table = { kind: 'export', table: 'conversions' };
    const job = await finished({ ...table, outcome: 'delivered', connection: 'meta' });
    expect(job).toMatchObject({ state: 'succeeded', result: { format: 'csv', conversions: 1 } });
    const { text, headers } = await download(job.id);
    expect(headers.get('content-disposition')).toContain(`conversions-${job.id}.csv`);
    const [names = '', ...rows] = text.trim().split('\r\n');
    expect(names.split(',').slice(-3)).toEqual(['meta', 'reasons', 'status']);
    expect(rows).toEqual([expect.stringMatching(/,ORD-T2,.*,delivered,,received$/)]);
    const none = await finished({ ...table, order: 'jane@example.com', event: 'purchase' });
    expect(none.result).toMatchObject({ conversions: 0 });
    expect(JSON.stringify(none.request)).not.toContain('jane');
    expect((await finished({ ...table, order: 'ORD-T1' })).result).toMatchObject({ conversions: 1 });
  });

  it('repeat deliveries only after a dry run, as the caller', async () => {
    const id = await storeConversion(log, { site: SITE, orderId: 'ORD-2', settings: META, outcomes: [FAILED] });
    const replay = { kind: 'replay', platform: 'meta', conversion: id };
    const dryRun = await finished(replay);
    expect(dryRun).toMatchObject({ state: 'succeeded', result: { requested: 1, dryRun: true } });
    const requests = async () =>
      (await log.readStream('conversion', id)).filter(({ type }) => type === 'conversion.send_requested.v1');
    expect(await requests()).toEqual([]);
    const done = await finished({ kind: 'replay', dryRun: dryRun.id });
    expect(done).toMatchObject({ state: 'succeeded', result: { requested: 1, dryRun: false } });
    const { body: user } = await operator('/session');
    expect(await requests()).toMatchObject([{ actor: `user:${user.id}` }]);
    for (const other of [done.id, '01980000-0000-7000-8000-000000000000'])
      expect((await start({ kind: 'replay', dryRun: other })).status).toBe(422);
  });

  it('carry out a dry run once, also if two requests do so at the same moment', async () => {
    const id = await storeConversion(log, { site: SITE, orderId: 'ORD-3', settings: META, outcomes: [FAILED] });
    const dryRun = await finished({ kind: 'replay', platform: 'meta', conversion: id, force: true });
    const confirm = () => start({ kind: 'replay', dryRun: dryRun.id });
    const replies = await Promise.all([confirm(), confirm()]);
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 422]);
    expect(await confirm()).toMatchObject({
      status: 422,
      body: { detail: 'This dry run was carried out already. Start another one to send again.' },
    });
  });

  it('replay a range with other rules', async () => {
    const job = await finished({ kind: 'shadow', from: '1', to: '2030-01-01', settings: { meta: { events: 'lead' } } });
    expect(job).toMatchObject({ state: 'succeeded', result: { undecided: expect.any(Number), platforms: {} } });
  });

  it.each([
    ['an unknown kind', { kind: 'verify' }, 400],
    ['a time that does not exist', { kind: 'export', from: '2026-02-30' }, 400],
    ['a platform that is not connected', { kind: 'replay', platform: 'tiktok', from: '1' }, 422],
    ['a replay of everything', { kind: 'replay', platform: 'meta' }, 422],
    ['a forced replay of a range', { kind: 'replay', platform: 'meta', from: '1', force: true }, 422],
    ['a setting that does not exist', { kind: 'shadow', from: '1', to: '2', settings: { meta: { x: 'y' } } }, 422],
    ['a secret', { kind: 'shadow', from: '1', to: '2', settings: { meta: { access_token: 'stored-token' } } }, 422],
    ['a wrong dedup window', { kind: 'shadow', from: '1', to: '2', dedupWindow: 'long' }, 422],
  ])('refuse %s', async (_, body, status) => {
    expect((await start(body)).status).toBe(status);
  });

  it('are for callers who may see the site, and files for those who operate it', async () => {
    const job = await finished({ kind: 'export' });
    const stranger = await admin.signedIn('operator', ['other.example']);
    const analyst = await admin.signedIn('analyst', [SITE]);
    for (const [method, path] of [
      ['GET', `/jobs/${job.id}`],
      ['GET', `/jobs/${job.id}/file`],
      ['DELETE', `/jobs/${job.id}`],
    ] as const)
      expect((await stranger(path, { method })).status).toBe(404);
    expect((await stranger('/jobs')).body.items).toEqual([]);
    expect((await analyst('/jobs')).body.items[0]).toMatchObject({ id: job.id });
    expect((await stranger(`/jobs?site=${SITE}`)).status).toBe(404);
    expect((await stranger('/jobs?site=other.example')).body.items).toEqual([]);
    expect((await operator('/jobs?site=other.example')).body.items).toEqual([]);
    expect((await analyst(`/jobs?site=${SITE}`)).body.items[0]).toMatchObject({ id: job.id });
    expect((await analyst(`/jobs/${job.id}/file`)).status).toBe(403);
    expect((await operator('/jobs?limit=1')).body).toMatchObject({ items: [{ id: job.id }], next: job.id });
    expect((await operator(`/jobs/${job.id}`)).body.file).toBeDefined();
  });
});
