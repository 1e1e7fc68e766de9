import { gunzipSync, gzipSync } from 'node:zlib';
import { type Dispatcher, request } from 'undici';
import { helpOf, pathOf, platformHelp, SITE_PAGES } from '../../src/dashboard/browser/navigation.js';
import { PLATFORMS } from '../../src/platforms/index.js';
import { startTestAdmin, type TestAdmin } from '../support/admin.js';
import { createDatabase } from '../support/databases.js';

const SETTINGS = ['users', 'oauth-apps', 'tokens', 'health', 'projections', 'audit'].map((name) => `/settings/${name}`);
const FIRST_PAGE_MAX_BYTES = 100_000;

let admin: TestAdmin;

beforeAll(async () => {
  admin = await startTestAdmin(await createDatabase());
});
afterAll(async () => {
  await admin?.stop();
});

async function get(path: string, headers: Record<string, string> = {}) {
  const { statusCode, headers: received, body }: Dispatcher.ResponseData = await request(admin.url + path, { headers });
  return { status: statusCode, headers: received, body: Buffer.from(await body.arrayBuffer()) };
}

/** The files that the page names: its script, its style sheet, its icon. */
const filesOf = (html: string) => [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path as string);

describe('the dashboard', () => {
  it('is answered for every address that it has a page for, and not for others', async () => {
    const page = await get('/');
    expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
    for (const path of ['/sites/shop.example/sync-log?status=failed', '/sign-in?refused=expired', '/no/such/page'])
      expect((await get(path)).body.equals(page.body)).toBe(true);
    for (const path of ['/api', '/api/v1/nothing', '/assets/nothing.js'])
      expect(await get(path)).toMatchObject({
        status: 404,
        headers: { 'content-type': 'application/problem+json; charset=utf-8' },
      });
  });

  it('contains no inline code and loads nothing from elsewhere', async () => {
    const { headers, body } = await get('/');
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(body.toString()).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
    expect(filesOf(body.toString()).filter((path) => !path.startsWith('/assets/'))).toEqual([]);
  });

  it(`has a first page of at most ${FIRST_PAGE_MAX_BYTES} bytes, compressed`, async () => {
    const { body } = await get('/');
    const files = await Promise.all(filesOf(body.toString()).map((path) => get(path)));
    expect(files.length).toBeGreaterThanOrEqual(2);
    const sizes = [body, ...files.map((file) => file.body)].map((content) => gzipSync(content).length);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(FIRST_PAGE_MAX_BYTES);
  });

  it('is cached by its content: the page is checked each time, files are not', async () => {
    const page = await get('/');
    expect(page.headers['cache-control']).toBe('no-cache');
    const etag = String(page.headers['etag']);
    expect(await get('/', { 'if-none-match': etag })).toMatchObject({ status: 304 });
    const script = filesOf(page.body.toString()).find((path) => path.endsWith('.js')) as string;
    const plain = await get(script);
    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
    });
    const packed = await get(script, { 'accept-encoding': 'br, gzip' });
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
  });

  it('learns before a sign-in whether there are users and a provider', async () => {
    expect((await admin.anonymous('/session/options')).body).toEqual({
      ...{ provider: false, hasUsers: false, addUser: 'npx clean-conversions users add <email> --role admin' },
    });
    await admin.addUser('analyst');
    expect((await admin.anonymous('/session/options')).body).toEqual({ provider: false, hasUsers: true });
  });

  it('has a page of the guide for each of its pages', async () => {
    const paths = [...SITE_PAGES.map(({ page }) => pathOf('shop.example', page)), ...SETTINGS, '/', '/account'];
    const addresses = [...paths.map(helpOf), ...PLATFORMS.map(({ name }) => platformHelp(name))];
    for (const address of new Set(addresses)) {
      const [path, anchor = 'main'] = address.split('#') as [string, string?];
      const { status, body } = await get(path);
      expect([address, status, body.toString().includes(`id="${anchor}"`)]).toEqual([address, 200, true]);
    }
  });

  it('learns where the service accepts conversions on its own machine', async () => {
    const analyst = await admin.signedIn('analyst');
    expect((await analyst('/installation')).body).toMatchObject({ localUrl: 'http://localhost:8080' });
    expect((await admin.anonymous('/installation')).status).toBe(401);
  });
});
