import {
  complaints,
  context,
  DENIED,
  EMAIL,
  FORM,
  HASH,
  identifyEmail,
  newVisitor,
  type Post,
  page,
  say,
  shops,
  stored,
  submit,
} from './browsing.js';

describe('a page', () => {
  it('that navigates by script is seen to land', async () => {
    const address = shops.page('/app');
    await page.goto(address);
    await shops.posted('collect');
    await page.evaluate(() => {
      history.pushState({}, '', '/app/other');
      history.pushState({}, '', '/app/other?gclid=pushed');
    });
    await shops.posted('collect', 2);
    await page.evaluate(() => history.replaceState({ kept: 1 }, '', '?fbclid=replaced'));
    const [, , last] = (await shops.posted('collect', 3)) as [Post, Post, Post];
    expect(last.body.clicks).toMatchObject({ gclid: { id: 'pushed' }, fbclid: { id: 'replaced' } });
    expect(last.body.page).toBe(shops.address('/app/other?fbclid=replaced'));
    expect(await page.evaluate(() => history.state)).toEqual({ kept: 1 });
    // A way back brings old ids, which are no new click.
    await page.evaluate(() => history.pushState({}, '', '?gclid=newest'));
    await shops.posted('collect', 4);
    await page.evaluate(() => history.go(-2));
    await page.waitForURL('**/app/other');
    await page.evaluate(() => history.go(-1));
    await shops.settled(page);
    expect(await shops.posted('collect')).toHaveLength(4);
    expect(await stored()).toMatch('newest');
  });

  it('works with cookies blocked, with localStorage blocked, and with both for as long as it lives', async () => {
    const noCookies = () =>
      Object.defineProperty(Document.prototype, 'cookie', { get: () => '', set: () => undefined });
    const noStorage = () =>
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('Access is denied for this document.', 'SecurityError');
        },
      });
    const address = shops.page('/code');
    for (const blocked of [[noCookies], [noStorage], [noCookies, noStorage]]) {
      shops.posts.length = 0;
      await newVisitor();
      for (const block of blocked) await context.addInitScript(block);
      await page.goto(`${address}?gclid=G1`);
      const [collect] = (await shops.posted('collect')) as [Post];
      if (blocked.length === 1) await page.goto(address);
      await identifyEmail();
      const [identify] = (await shops.posted('identify')) as [Post];
      const { visitor, visit } = collect.body;
      expect(identify.body).toMatchObject({ visitor, visit, hash: HASH, clicks: { gclid: { id: 'G1' } } });
      await say('denied');
      const [withdrawal] = (await shops.posted('consent')) as [Post];
      expect(withdrawal.body).toMatchObject({ visitor, hash: HASH });
    }
  });

  it('with a strict Content Security Policy runs it', async () => {
    const track = shops.address('', 'track.shop');
    const policy = `default-src 'none'; script-src ${track} 'nonce-abc'; connect-src ${track} ${shops.address('')}; img-src data:`;
    const snippet = shops.snippet().replace('<script>', '<script nonce="abc">');
    await page.goto(`${shops.page('/csp', '', { snippet, headers: { 'content-security-policy': policy } })}?gclid=G1`);
    await shops.posted('collect');
    await identifyEmail();
    await shops.posted('identify');
  });

  it('in two tabs is one visitor, and one tab’s no is the other’s', async () => {
    const address = shops.page('/code');
    await page.goto(`${address}?gclid=G1`);
    const [first] = (await shops.posted('collect')) as [Post];
    const other = await context.newPage();
    await other.goto(`${address}?gclid=G2`);
    await shops.posted('collect', 2);
    await identifyEmail();
    const [identify] = (await shops.posted('identify')) as [Post];
    expect(identify.body).toMatchObject({ visitor: first.body.visitor, clicks: { gclid: { id: 'G2' } } });
    // Reloaded, the first tab has the older click in its address: the newer one stays.
    await page.reload();
    await other.evaluate(() => cc('consent', 'denied'));
    await shops.posted('consent');
    await identifyEmail();
    const [, optOut] = (await shops.posted('consent', 2)) as [Post, Post];
    expect(optOut.body).toEqual({ v: 1, hash: HASH, consent: DENIED });
    expect(await shops.posted('collect')).toHaveLength(2);
    expect(await stored()).not.toMatch(/G[12]|clicks/);
  });

  it('on another host of the domain belongs to the same visitor', async () => {
    const address = shops.page('/code');
    await page.goto(`${address}?gclid=G1`);
    const [collect] = (await shops.posted('collect')) as [Post];
    await page.goto(address.replace('shop.', 'www.shop.'));
    await identifyEmail();
    const [identify] = (await shops.posted('identify')) as [Post];
    const { visitor, visit } = collect.body;
    expect(identify.body).toMatchObject({ visitor, visit, clicks: { gclid: { id: 'G1' } } });
    // Denied there, it is void here too, though that page could not reach this host's localStorage.
    await say('denied');
    await page.reload();
    await say('granted');
    await shops.posted('collect', 2);
    await page.goto(`${address}?msclkid=M1`);
    const [, , last] = (await shops.posted('collect', 3)) as [Post, Post, Post];
    expect(last.body.clicks).toEqual({ msclkid: expect.objectContaining({ id: 'M1' }) });
    expect(last.body).not.toHaveProperty('hash');
    expect(last.body.visitor).not.toBe(visitor);
  });

  it('tries again while the service is away, and not when it refuses', async () => {
    await page.clock.install();
    shops.answers.push(503, 503);
    await page.goto(shops.page('/code'));
    await expectAnswered(2);
    await page.clock.runFor('01:30');
    await shops.posted('collect');
    shops.answers.push(403);
    await identifyEmail();
    await expectAnswered(3);
    await page.clock.runFor('10:00');
    await shops.settled(page);
    expect(shops.posts.filter(({ to }) => to === 'identify')).toEqual([]);
    expect(complaints.splice(0)).toHaveLength(3);
  });

  it('of a browser that keeps no request alive sends beacons', async () => {
    await context.addInitScript(() => Reflect.deleteProperty(Request.prototype, 'keepalive'));
    await page.goto(`${shops.page('/code')}?gclid=G1`);
    const [collect] = (await shops.posted('collect')) as [Post];
    expect(collect.body.clicks.gclid.id).toBe('G1');
    expect(collect.request.headers).toMatchObject({ 'content-type': 'text/plain;charset=UTF-8' });
    // It is the one case in which cookies come along.
    shops.posts.length = 0;
  });

  it('that comes back from the browser’s cache continues, and the tag keeps none out of it', async () => {
    const cdp = await context.newCDPSession(page);
    await cdp.send('Page.enable');
    const reasons: string[] = [];
    cdp.on('Page.backForwardCacheNotUsed', ({ notRestoredExplanations }) => {
      for (const { type, reason } of notRestoredExplanations) reasons.push(`${type}: ${reason}`);
    });
    const address = shops.page('/code');
    await page.goto(address);
    await shops.posted('collect');
    await page.evaluate(() => location.assign('?second'));
    await page.waitForURL('**/code?second');
    await page.goBack();
    // Headless Chromium keeps no page, and says that this is its own doing, not the page's.
    expect(reasons.length).toBeGreaterThan(0);
    expect(reasons.filter((reason) => !reason.startsWith('Circumstantial'))).toEqual([]);
    // So the event by which a page learns of its return is made by hand.
    await page.waitForFunction(() => 'isTag' in cc);
    await page.evaluate(() => {
      const later = Date.now() + 31 * 60_000;
      Date.now = () => later;
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    });
    const [first, second] = (await shops.posted('collect', 2)) as [Post, Post];
    expect(second.body.visitor).toBe(first.body.visitor);
    expect(second.body.visit).not.toBe(first.body.visit);
  });

  it('is not disturbed by a tag that finds everything broken', async () => {
    await context.addInitScript(() => {
      const broken = () => {
        throw new Error('broken');
      };
      Object.defineProperty(window, 'fetch', { value: broken });
      Object.defineProperty(window, 'localStorage', { get: broken });
      Object.defineProperty(performance, 'getEntriesByType', { value: broken });
    });
    await page.goto(shops.page('/form', `${FORM}<script>let done = 0; onsubmit = () => ++done && false</script>`));
    await page.waitForFunction(() => 'isTag' in cc);
    await submit(EMAIL.trim());
    expect(await page.evaluate('done')).toBe(1);
    await say({ toString: null });
  });
});

/** The service was asked, and did not take it: there is nothing else to see of that. */
async function expectAnswered(times: number): Promise<void> {
  for (let waits = 0; shops.refused < times; waits += 1) {
    expect(waits).toBeLessThan(600);
    await page.clock.runFor(200);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
