import { createDatabase } from './support/databases.js';
import { send, startTestService, type TestService } from './support/service.js';

const OUTSIDER = { 'X-Forwarded-For': '203.0.113.5' };

let service: TestService;
beforeAll(async () => {
  service = await startTestService(await createDatabase(), {});
});
afterAll(async () => service?.stop());

const get = (path: string, headers: Record<string, string> = {}) => send(service, { path, headers });
const assetIn = (html: string, name: string) => new RegExp(`"(assets/${name}-[^"]+)"`).exec(html)?.[1] as string;

describe('the guide', () => {
  it('is served below /docs/guide, with a relative redirect to it', async () => {
    expect(await get('/docs/guide')).toMatchObject({ status: 302, headers: { location: 'guide/' } });
    const home = await get('/docs/guide/');
    expect(home).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' });
    expect((await get('/docs/guide/index.html')).body).toBe(home.body);
    expect(await get('/docs/guide/integrate/')).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' });
    expect(await get('/docs/guide/integrate/')).toEqual(await get('/docs/guide/integrate/index.html'));
  });

  it('states types, and a policy that permits only its own files', async () => {
    const home = await get('/docs/guide/');
    expect(home.headers).toMatchObject({
      'content-security-policy': expect.stringMatching(/^default-src 'none'; script-src 'self';/),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    const types = [
      [assetIn(home.body, 'guide'), 'text/css; charset=utf-8'],
      [/src="(assets\/guide-[^"]+\.js)"/.exec(home.body)?.[1], 'text/javascript; charset=utf-8'],
      [assetIn(home.body, 'search'), 'application/json; charset=utf-8'],
      [assetIn(home.body, 'icon'), 'image/svg+xml'],
      ['operate/alerts.yml', 'text/plain; charset=utf-8'],
      ['verify-chain.mjs', 'text/plain; charset=utf-8'],
    ];
    for (const [path, type] of types) expect([path, (await get(`/docs/guide/${path}`)).type]).toEqual([path, type]);
  });

  it('is cached by its content: pages are checked each time, files with a hash in their name are not', async () => {
    const home = await get('/docs/guide/');
    const etag = String(home.headers['etag']);
    expect(home.headers['cache-control']).toBe('no-cache');
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect(await get('/docs/guide/', { 'If-None-Match': etag })).toMatchObject({ status: 304, body: '' });
    expect((await get('/docs/guide/', { 'If-None-Match': '"other"' })).status).toBe(200);
    const style = await get(`/docs/guide/${assetIn(home.body, 'guide')}`);
    expect(style.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  });

  it.each([
    ...[
      'nothing.html',
      '../openapi.json',
      '..%2fopenapi.json',
      '%2e%2e/%2e%2e/main.js',
      '..%5c..%5cmain.js',
      '.guide-built-from',
    ],
    ...[
      '/etc/passwd',
      '%2fetc%2fpasswd',
      'operate',
      'index.html/',
      'index.html%00',
      '__proto__',
      'constructor',
      'assets/',
    ],
  ])('has no file %s', async (path) => {
    expect(await get(`/docs/guide/${path}`)).toMatchObject({ status: 404 });
  });

  it('is served to operators only', async () => {
    for (const path of ['/docs/guide', '/docs/guide/', '/docs/guide/index.html', '/docs/%67uide/', '//docs/guide/'])
      expect([path, (await get(path, OUTSIDER)).status]).toEqual([path, 404]);
  });

  it('answers HEAD without a body, and other methods with 404 or 405', async () => {
    expect(await send(service, { path: '/docs/guide/', method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
    expect([404, 405]).toContain((await send(service, { path: '/docs/guide/', method: 'POST' })).status);
  });

  it('is compressed where the client accepts it', async () => {
    const reply = await fetch(`http://127.0.0.1:${service.port}/docs/guide/`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(reply.headers.get('content-encoding')).toBe('gzip');
    expect(await reply.text()).toBe((await get('/docs/guide/')).body);
  });

  it('and the API reference link to each other', async () => {
    expect((await get('/docs/guide/')).body).toContain('href="../../docs"');
    const { info } = JSON.parse((await get('/docs/openapi.json')).body);
    expect(info.description).toContain('(docs/guide/)');
  });
});
