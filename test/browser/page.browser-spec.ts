import {
  browserErrors,
  context,
  DENIED,
  EMAIL,
  FORM,
  HASH,
  identifyEmail,
  newVisitor,
  type Post,
  page,
  setConsent,
  shop,
  storedText,
  submit,
  testTag,
} from './browser-setup.js';

testTag();

describe('a page with the tag', () => {
  it('reports landings of script navigations', async () => {
    const address = shop.page('/app');
    await page.goto(address);
    await shop.waitForPosts('collect');
    await page.evaluate(() => {
      history.pushState({}, '', '/app/other');
      history.pushState({}, '', '/app/other?gclid=pushed');
    });
    await shop.waitForPosts('collect', 2);
    await page.evaluate(() => history.replaceState({ scroll: 1 }, '', '?fbclid=replaced'));
    const [, , last] = (await shop.waitForPosts('collect', 3)) as [Post, Post, Post];
    expect(last.body.clicks).toMatchObject({ gclid: { id: 'pushed' }, fbclid: { id: 'replaced' } });
    expect(last.body.page).toBe(shop.address('/app/other?fbclid=replaced'));
    expect(await page.evaluate(() => history.state)).toEqual({ scroll: 1 });
    // A back navigation shows old ids, which are not a new click.
    await page.evaluate(() => history.pushState({}, '', '?gclid=newest'));
    await shop.waitForPosts('collect', 4);
    await page.evaluate(() => history.go(-2));
    await page.waitForURL('**/app/other');
    await page.evaluate(() => history.go(-1));
    await page.waitForURL('**/app');
    await shop.waitForIdle(page);
    expect(await shop.waitForPosts('collect')).toHaveLength(4);
    expect(await storedText()).toMatch('newest');
  });

  it('works with blocked cookies, with blocked localStorage, and with both until it is left', async () => {
    const noCookies = () =>
      Object.defineProperty(Document.prototype, 'cookie', { get: () => '', set: () => undefined });
    const noStorage = () =>
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('Access is denied for this document.', 'SecurityError');
        },
      });
    const address = shop.page('/code');
    for (const blocked of [[noCookies], [noStorage], [noCookies, noStorage]]) {
      shop.posts.length = 0;
      await newVisitor();
      for (const block of blocked) await context.addInitScript(block);
      await page.goto(`${address}?gclid=G1`);
      const [collect] = (await shop.waitForPosts('collect')) as [Post];
      if (blocked.length === 1) await page.goto(address);
      await identifyEmail();
      const [identify] = (await shop.waitForPosts('identify')) as [Post];
      const { visitor, visit } = collect.body;
      expect(identify.body).toMatchObject({ visitor, visit, hash: HASH, clicks: { gclid: { id: 'G1' } } });
      await setConsent('denied');
      const [withdrawal] = (await shop.waitForPosts('consent')) as [Post];
      expect(withdrawal.body).toMatchObject({ visitor, hash: HASH });
    }
  });

  it('may have a strict Content Security Policy', async () => {
    const track = shop.address('', 'track.shop');
    const policy = `default-src 'none'; script-src ${track} 'nonce-abc'; connect-src ${track} ${shop.address('')}; img-src data:`;
    const snippet = shop.snippet().replace('<script>', '<script nonce="abc">');
    await page.goto(`${shop.page('/csp', '', { snippet, headers: { 'content-security-policy': policy } })}?gclid=G1`);
    await shop.waitForPosts('collect');
    await identifyEmail();
    await shop.waitForPosts('identify');
  });

  it('shares visitor and consent between two tabs', async () => {
    const address = shop.page('/code');
    await page.goto(`${address}?gclid=G1`);
    const [first] = (await shop.waitForPosts('collect')) as [Post];
    const other = await context.newPage();
    await other.goto(`${address}?gclid=G2`);
    await shop.waitForPosts('collect', 2);
    await identifyEmail();
    const [identify] = (await shop.waitForPosts('identify')) as [Post];
    expect(identify.body).toMatchObject({ visitor: first.body.visitor, clicks: { gclid: { id: 'G2' } } });
    // The reloaded first tab has the older click in its address. The newer click stays recorded.
    await page.reload();
    await other.evaluate(() => cc('consent', 'denied'));
    await shop.waitForPosts('consent');
    await identifyEmail();
    const [, optOut] = (await shop.waitForPosts('consent', 2)) as [Post, Post];
    expect(optOut.body).toEqual({ v: 1, hash: HASH, consent: DENIED, statement: expect.any(String) });
    expect(await shop.waitForPosts('collect')).toHaveLength(2);
    expect(await storedText()).not.toMatch(/G[12]|clicks/);
  });

  it('has the same visitor on another host of the domain', async () => {
    const address = shop.page('/code');
    await page.goto(`${address}?gclid=G1`);
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
    await page.goto(address.replace('shop.', 'www.shop.'));
    await identifyEmail();
    const [identify] = (await shop.waitForPosts('identify')) as [Post];
    const { visitor, visit } = collect.body;
    expect(identify.body).toMatchObject({ visitor, visit, clicks: { gclid: { id: 'G1' } } });
    // A denial there voids the record here, although that page cannot reach this host's localStorage.
    await setConsent('denied');
    await page.reload();
    await setConsent('granted');
    await shop.waitForPosts('collect', 2);
    await page.goto(`${address}?msclkid=M1`);
    const [, , last] = (await shop.waitForPosts('collect', 3)) as [Post, Post, Post];
    expect(last.body.clicks).toEqual({ msclkid: expect.objectContaining({ id: 'M1' }) });
    expect(last.body).not.toHaveProperty('hash');
    expect(last.body.visitor).not.toBe(visitor);
  });

  it('retries while the service is unavailable or limits calls, and does not retry a rejected message', async () => {
    const errorResponse = () => page.waitForResponse((response) => response.status() >= 400);
    await page.clock.install();
    shop.rejections.push(503, 429);
    const first = errorResponse();
    await page.goto(shop.page('/code'));
    await first;
    const second = errorResponse();
    await page.clock.runFor('00:02');
    await second;
    await page.clock.runFor('00:10');
    await shop.waitForPosts('collect');
    shop.rejections.push(403);
    const third = errorResponse();
    await identifyEmail();
    await third;
    await page.clock.runFor('10:00');
    await shop.waitForIdle(page);
    expect(shop.posts.filter(({ endpoint }) => endpoint === 'identify')).toEqual([]);
    expect(browserErrors.splice(0)).toHaveLength(3);
  });

  it('sends beacons where the browser does not support keepalive', async () => {
    await context.addInitScript(() => Reflect.deleteProperty(Request.prototype, 'keepalive'));
    await page.goto(`${shop.page('/code')}?gclid=G1`);
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
    expect(collect.body.clicks.gclid.id).toBe('G1');
    expect(collect.request.headers).toMatchObject({ 'content-type': 'text/plain;charset=UTF-8' });
    // Beacons are the only posts that may carry cookies, so skip the common check.
    shop.posts.length = 0;
  });

  it('is eligible for the back/forward cache and continues when restored from it', async () => {
    const cdp = await context.newCDPSession(page);
    await cdp.send('Page.enable');
    const explained = new Promise<string[]>((resolve) =>
      cdp.once('Page.backForwardCacheNotUsed', ({ notRestoredExplanations }) =>
        resolve(notRestoredExplanations.map(({ type, reason }) => `${type}: ${reason}`)),
      ),
    );
    const address = shop.page('/code');
    await page.goto(address);
    await shop.waitForPosts('collect');
    await page.evaluate(() => location.assign('?second'));
    await page.waitForURL('**/code?second');
    await page.goBack();
    // Headless Chromium caches no page. It reports reasons of its own (Circumstantial), none caused by the page.
    const reasons = await explained;
    expect(reasons.length).toBeGreaterThan(0);
    expect(reasons.filter((reason) => !reason.startsWith('Circumstantial'))).toEqual([]);
    // So dispatch the event of a restored page by hand.
    await page.waitForFunction(() => 'isTag' in cc);
    await page.evaluate(() => {
      const later = Date.now() + 31 * 60_000;
      Date.now = () => later;
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    });
    const [first, second] = (await shop.waitForPosts('collect', 2)) as [Post, Post];
    expect(second.body.visitor).toBe(first.body.visitor);
    expect(second.body.visit).not.toBe(first.body.visit);
  });

  it('is not affected when every browser API fails in the tag', async () => {
    await context.addInitScript(() => {
      const broken = () => {
        throw new Error('broken');
      };
      Object.defineProperty(window, 'fetch', { value: broken });
      Object.defineProperty(window, 'localStorage', { get: broken });
      Object.defineProperty(performance, 'getEntriesByType', { value: broken });
    });
    await page.goto(shop.page('/form', `${FORM}<script>let done = 0; onsubmit = () => ++done && false</script>`));
    await page.waitForFunction(() => 'isTag' in cc);
    await submit(EMAIL.trim());
    expect(await page.evaluate('done')).toBe(1);
    await setConsent({ toString: null });
  });
});
