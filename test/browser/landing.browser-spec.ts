import { context, type Post, page, shop, testTag } from './browser-setup.js';

testTag();

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('a landing', () => {
  it('is sent with unchanged click ids, UTM fields and browser signals', async () => {
    const address = shop.page('/landing');
    const query =
      'utm_source=News+Letter&utm_medium=email&utm_campaign=%7Bcampaignid%7D&utm_term=(not%20set)' +
      '&gclid=CjwKCAjw_AbC-dEf&ScCid=MiXed%2DCase&fbclid=IwAR0%252B&gclid=second&ttclid=__CLICKID__&x=1';
    await page.goto(`${address}?${query}#fragment`);
    const [post] = (await shop.waitForPosts('collect')) as [Post];
    expect(post.body).toEqual({
      v: 1,
      visitor: expect.stringMatching(UUID),
      visit: expect.stringMatching(UUID),
      page: `${address}?${query}`,
      clicks: {
        gclid: { id: 'CjwKCAjw_AbC-dEf', t: expect.any(Number), page: `${address}?${query}` },
        sccid: { id: 'MiXed-Case', t: expect.any(Number), page: `${address}?${query}` },
        fbclid: { id: 'IwAR0%2B', t: expect.any(Number), page: `${address}?${query}` },
      },
      utm: { source: 'News Letter', medium: 'email' },
      first: { t: expect.any(Number), page: `${address}?${query}`, utm: { source: 'News Letter', medium: 'email' } },
      cookies: {},
      signals: {
        webdriver: true,
        automation: expect.any(Array),
        languages: expect.any(Number),
        screen: [expect.any(Number), expect.any(Number)],
        viewport: [1280, 720],
        touch: 0,
        plugins: expect.any(Number),
        hidden: false,
        loadedMs: expect.any(Number),
        interactions: 0,
      },
    });
    expect(Math.abs(post.body.clicks.gclid.t - Date.now())).toBeLessThan(60_000);
    expect(post.request.headers).toMatchObject({
      'content-type': 'text/plain;charset=UTF-8',
      origin: new URL(address).origin,
    });
  });

  it('starts one visit for many pages, and a new click starts another', async () => {
    const address = shop.page('/landing');
    await page.goto(`${address}?gclid=first`);
    await page.goto(address);
    await page.goto(`${address}?gclid=first`);
    await page.reload();
    await shop.waitForIdle(page);
    const [first, ...more] = await shop.waitForPosts('collect');
    expect(more).toEqual([]);
    await page.goto(`${address}?msclkid=second&utm_source=bing`);
    const [, second] = (await shop.waitForPosts('collect', 2)) as [Post, Post];
    expect(second.body.visitor).toBe(first?.body.visitor);
    expect(second.body.visit).not.toBe(first?.body.visit);
    expect(second.body.clicks.gclid).toEqual(first?.body.clicks.gclid);
    expect(second.body).toMatchObject({ clicks: { msclkid: { id: 'second' } }, utm: { source: 'bing' } });
    expect(second.body.first).toEqual(first?.body.first);
  });

  it('starts a new visit after 30 minutes of inactivity', async () => {
    const address = shop.page('/landing');
    await page.clock.install();
    await page.goto(address);
    await shop.waitForPosts('collect');
    await page.clock.fastForward('29:00');
    await page.goto(address);
    await shop.waitForIdle(page);
    expect(await shop.waitForPosts('collect')).toHaveLength(1);
    await page.clock.fastForward('31:00');
    await page.goto(address);
    const [first, second] = (await shop.waitForPosts('collect', 2)) as [Post, Post];
    expect(second.body.visitor).toBe(first.body.visitor);
    expect(second.body.visit).not.toBe(first.body.visit);
  });

  it('is sent even by a page that redirects at once', async () => {
    const next = shop.page('/next');
    // Redirects after the tag has run and before any of its timers fires.
    const script = '<script>document.querySelector("[async]").onload = () => location.replace("/next")</script>';
    shop.page('/redirects', '', { snippet: shop.snippet() + script });
    await page.goto(shop.address('/redirects?gclid=G1'), { waitUntil: 'commit' });
    await page.waitForURL(next);
    await shop.waitForPosts('collect');
    await shop.waitForIdle(page);
    const [collect, ...more] = (await shop.waitForPosts('collect')) as [Post];
    expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } } });
    expect(more).toEqual([]);
  });

  it('is sent without the parts of the page address that contain an email', async () => {
    const address = shop.page('/welcome/jo.doe@customer.example');
    const hidden = 'a=1&mail=jo.doe%40customer.example&next=%2Fx%3Fe%3Djo.doe%2540customer.example&email=zzz&gclid=G1';
    await page.goto(`${address}?${hidden}`);
    const [post] = (await shop.waitForPosts('collect')) as [Post];
    expect(post.body.page).toBe(shop.address('/welcome/?a=1&gclid=G1'));
  });

  it('includes platform cookies and the click ids in them', async () => {
    const clickedAt = Math.floor(Date.now() / 1000) - 3600;
    const values = {
      _fbp: 'fb.1.1700000000000.123',
      _fbc: `fb.1.${clickedAt * 1000}.IwAR_cookie`,
      _ga: 'GA1.1.111.222',
      _ga_ABC: 'GS1.1.1700000001.3.0',
      _ga_XYZ: 'GS2.1.s1700000009$o1$g0',
      _gcl_aw: `GCL.${clickedAt}.Cj0_cookie`,
      _uetvid: 'vid',
      _uetmsclkid: '_uetms-cookie',
      li_fat_id: 'li-cookie',
      _epik: 'old',
    };
    const url = shop.address('/');
    await context.addCookies(Object.entries(values).map(([name, value]) => ({ name, value, url })));
    await page.goto(`${shop.page('/landing')}?epik=fresh`);
    const [post] = (await shop.waitForPosts('collect')) as [Post];
    const { _fbp, _fbc, _uetvid } = values;
    expect(post.body.cookies).toEqual({ _fbp, _fbc, _uetvid, _ga: '111.222', _ga_session: '1700000009' });
    expect(post.body.clicks).toEqual({
      fbclid: { id: 'IwAR_cookie', t: clickedAt * 1000 },
      gclid: { id: 'Cj0_cookie', t: clickedAt * 1000 },
      msclkid: { id: 'ms-cookie', t: expect.any(Number) },
      li_fat_id: { id: 'li-cookie', t: expect.any(Number) },
      epik: expect.objectContaining({ id: 'fresh' }),
    });
  });
});
