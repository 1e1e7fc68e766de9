import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { startTestAdmin } from './support/admin.js';
import { temporaryFolder } from './support/folders.js';
import { useService } from './support/service.js';

const { databaseUrl, operator, service, openSite } = await useService();
const sandbox = await new Sandbox().start();
// The management API of an installation with the embedded database, which has a sandbox.
const folder = temporaryFolder('cc-test-conversion-');
writeFileSync(join(folder, 'demo-sandbox-port'), new URL(sandbox.url).port);
const admin = await startTestAdmin(databaseUrl, {
  ...{ PORT: String(service.port), DATABASE_URL: '', DATA_DIR: folder, DEMO_PLATFORMS: 'true' },
});
const boss = await admin.signedIn('admin');
afterAll(async () => {
  await admin.stop();
  await sandbox.stop();
});

describe('a test conversion', () => {
  it('is sent to the service with the key, and delivered to the sandbox', async () => {
    const site = await openSite({});
    await boss(`/sites/${site.host}/connections/meta/sandbox`, { method: 'POST' });
    await service.refreshSites();
    const send = () => boss(`/sites/${site.host}/test-conversion`, { method: 'POST', body: { key: site.key } });
    const { status, body } = await send();
    expect([status, body]).toEqual([
      200,
      { conversionId: expect.any(String), results: { meta: { ok: true, status: 'delivered' } } },
    ]);
    expect((await send()).body.conversionId).not.toBe(body.conversionId);
    const received = (await operator.conversions(site.host)).filter(({ type }) => type === 'conversion.received.v1');
    expect(received).toHaveLength(2);
    expect(received[0]).toMatchObject({ data: { event: 'purchase', value: 129.9, currency: 'EUR' } });
  });

  it('is not sent while an account is connected, where it would count', async () => {
    const site = await openSite({});
    const settings = { pixel_id: '1', access_token: 'token' };
    await boss(`/sites/${site.host}/connections/meta`, { method: 'PUT', body: { settings } });
    const send = () => boss(`/sites/${site.host}/test-conversion`, { method: 'POST', body: { key: site.key } });
    expect(await send()).toMatchObject({ status: 409, body: { detail: expect.stringMatching(/^meta is connected/) } });
    await boss(`/sites/${site.host}/connections/meta`, { method: 'DELETE' });
    await service.refreshSites();
    expect((await send()).status).toBe(200);
  });

  it('is not sent while totals are pushed to a webhook', async () => {
    const site = await openSite({});
    const path = `/sites/${site.host}/webhook`;
    expect((await boss(path, { method: 'PUT', body: { url: 'https://shop.example/totals' } })).status).toBe(200);
    const send = () => boss(`/sites/${site.host}/test-conversion`, { method: 'POST', body: { key: site.key } });
    expect(await send()).toMatchObject({ status: 409, body: { detail: expect.stringContaining('in its totals') } });
    await boss(`${path}/enabled`, { method: 'PUT', body: { enabled: false } });
    expect((await send()).status).toBe(200);
  });

  it('with a wrong key is refused in the words of the service', async () => {
    const site = await openSite({});
    const reply = await boss(`/sites/${site.host}/test-conversion`, { method: 'POST', body: { key: 'cc_wrong' } });
    expect(reply).toMatchObject({
      status: 422,
      body: { detail: expect.stringMatching(/^The service answered 401: /) },
    });
  });
});
