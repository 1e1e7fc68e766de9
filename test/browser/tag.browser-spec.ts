import { createHash } from 'node:crypto';
import { jest } from '@jest/globals';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { CHROMIUM_REMEDY, launchChromium } from './chromium.mjs';
import { type Post, Shops } from './shop.js';

jest.setTimeout(60_000);

const EMAIL = ' Jo.Doe+Sale@Customer.example ';
const HASH = createHash('sha256').update('jo.doe+sale@customer.example').digest('hex');
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const GRANTED = {
  ad_storage: 'granted',
  ad_user_data: 'granted',
  ad_personalization: 'granted',
  analytics_storage: 'granted',
};
const DENIED = {
  ad_storage: 'denied',
  ad_user_data: 'denied',
  ad_personalization: 'denied',
  analytics_storage: 'denied',
};
const FORM = '<form action="/thanks"><input type="email" name="email"><button>Send</button></form>';
const GTAG = 'window.dataLayer = window.dataLayer || []; function gtag() { dataLayer.push(arguments) }';

type Cc = { (...call: unknown[]): void; identifyEmail(email: string): void };
declare const cc: Cc;

let browser: Browser;
let shops: Shops;
let context: BrowserContext;
let page: Page;
/** Errors and warnings of the browser's console, and errors that the page did not catch. */
let complaints: string[];

beforeAll(async () => {
  const started = await launchChromium({ ignoreDefaultArgs: ['--disable-back-forward-cache'] });
  if (!started) throw new Error(`No Chromium starts here: ${CHROMIUM_REMEDY}.`);
  browser = started;
});

afterAll(async () => {
  await browser?.close();
});

beforeEach(async () => {
  shops = await new Shops().open();
  await newPage();
});

afterEach(async () => {
  await context.close();
  await shops.close();
  // Whatever the test was about: no request to the service tells the address, and the page heard no complaint.
  for (const post of shops.posts) expect(decodeAll(JSON.stringify(post))).not.toMatch(/customer\.example|jo\.doe/i);
  for (const post of shops.posts) expect(post.request.headers).not.toHaveProperty('cookie');
  for (const post of shops.posts) expect(Buffer.byteLength(post.text)).toBeLessThanOrEqual(8192);
  expect(complaints).toEqual([]);
});

describe('a landing', () => {
  it('is told with its click ids as they came, its UTM fields and what the browser is', async () => {
    const address = shops.page('/landing');
    const query =
      'utm_source=News+Letter&utm_medium=email&utm_campaign=%7Bcampaignid%7D&utm_term=(not%20set)' +
      '&gclid=CjwKCAjw_AbC-dEf&ScCid=MiXed%2DCase&fbclid=IwAR0%252B&gclid=second&ttclid=__CLICKID__&x=1';
    await page.goto(`${address}?${query}#fragment`);
    const [post] = (await shops.posted('collect')) as [Post];
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

  it('is one visit over many pages, and a new click begins another', async () => {
    const address = shops.page('/landing');
    await page.goto(`${address}?gclid=first`);
    await page.goto(address);
    await page.goto(`${address}?gclid=first`);
    await page.reload();
    await shops.settled(page);
    const [first, ...more] = await shops.posted('collect');
    expect(more).toEqual([]);
    await page.goto(`${address}?msclkid=second&utm_source=bing`);
    const [, second] = (await shops.posted('collect', 2)) as [Post, Post];
    expect(second.body.visitor).toBe(first?.body.visitor);
    expect(second.body.visit).not.toBe(first?.body.visit);
    expect(second.body.clicks.gclid).toEqual(first?.body.clicks.gclid);
    expect(second.body).toMatchObject({ clicks: { msclkid: { id: 'second' } }, utm: { source: 'bing' } });
    expect(second.body.first).toEqual(first?.body.first);
  });

  it('begins a visit too when the visitor was away for half an hour', async () => {
    const address = shops.page('/landing');
    await page.clock.install();
    await page.goto(address);
    await shops.posted('collect');
    await page.clock.fastForward('29:00');
    await page.goto(address);
    await shops.settled(page);
    expect(await shops.posted('collect')).toHaveLength(1);
    await page.clock.fastForward('31:00');
    await page.goto(address);
    const [first, second] = (await shops.posted('collect', 2)) as [Post, Post];
    expect(second.body.visitor).toBe(first.body.visitor);
    expect(second.body.visit).not.toBe(first.body.visit);
  });

  it('keeps an address of the page that holds an email to itself', async () => {
    const address = shops.page('/welcome/jo.doe@customer.example');
    const hidden = 'a=1&mail=jo.doe%40customer.example&next=%2Fx%3Fe%3Djo.doe%2540customer.example&email=zzz&gclid=G1';
    await page.goto(`${address}?${hidden}`);
    const [post] = (await shops.posted('collect')) as [Post];
    expect(post.body.page).toBe(shops.address('/welcome/?a=1&gclid=G1'));
  });

  it('reads the cookies that platforms have set, and click ids that only they know', async () => {
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
    const url = shops.address('/');
    await context.addCookies(Object.entries(values).map(([name, value]) => ({ name, value, url })));
    await page.goto(`${shops.page('/landing')}?epik=fresh`);
    const [post] = (await shops.posted('collect')) as [Post];
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

describe('an email', () => {
  it('is told when a form with it is submitted, and the page goes away', async () => {
    shops.page('/thanks');
    await page.goto(`${shops.page('/form', FORM.replace('<form', '<form method="post"'))}?gclid=G1`);
    await page.fill('input', EMAIL.trim());
    await page.click('button');
    const [post] = (await shops.posted('identify')) as [Post];
    const [collect] = (await shops.posted('collect')) as [Post];
    expect(post.body).toMatchObject({
      hash: HASH,
      visitor: collect.body.visitor,
      visit: collect.body.visit,
      clicks: { gclid: { id: 'G1' } },
    });
    expect(post.body.signals.interactions).toBeGreaterThan(0);
    expect(post.body.signals.submitMs).toBeGreaterThan(0);
    expect(post.body.signals).not.toHaveProperty('honeypot');
  });

  it('is told every time, however fast the next page comes', async () => {
    shops.page('/thanks');
    const address = shops.page('/form', FORM);
    for (let round = 0; round < 20; round += 1) {
      await page.goto(`${address}?gclid=G${round}`);
      await page.fill('input', EMAIL.trim());
      await page.click('button');
      await page.waitForURL('**/thanks*');
    }
    expect(await shops.posted('identify', 20)).toHaveLength(20);
  });

  it('is told when a script sends the form, and again only when there is something new', async () => {
    const script =
      '<script>addEventListener("submit", (event) => { event.preventDefault(); event.stopPropagation() }, true)</script>';
    // A login field by its name, not its type; its trap was filled in.
    const form = '<form><input name="user_email"><input name="site" data-cc-honeypot><button>Send</button></form>';
    await page.goto(shops.page('/form', form + script));
    await page.fill('[name=user_email]', EMAIL);
    await page.click('button');
    await page.click('button');
    await page.evaluate(() => (document.querySelector('form') as HTMLFormElement).requestSubmit());
    await shops.settled(page);
    const [post, ...more] = (await shops.posted('identify')) as [Post];
    expect(more).toEqual([]);
    expect(post.body).toMatchObject({ hash: HASH, signals: { honeypot: false } });
    // A pixel that came later has set its cookie.
    await context.addCookies([{ name: '_fbp', value: 'fb.1.2.3', url: page.url() }]);
    await page.fill('[name=site]', 'http://spam.example');
    await page.click('button');
    const [, second] = (await shops.posted('identify', 2)) as [Post, Post];
    expect(second.body).toMatchObject({ cookies: { _fbp: 'fb.1.2.3' }, signals: { honeypot: true } });
  });

  it.each([
    ['a password', '<input type="password" name="email_password">'],
    ['a card', '<input type="text" name="email" autocomplete="cc-name">'],
    ['a hidden field', '<input type="hidden" name="email">'],
    ['a field that says nothing of an email', '<input type="text" name="comment">'],
    ['an ignored field', '<input type="email" name="email" data-cc-ignore>'],
    ['a field inside something ignored', '<div data-cc-ignore><input type="email" name="email"></div>'],
    ['a trap', '<input type="text" name="email" data-cc-honeypot>'],
  ])('is not taken from %s', async (_, field) => {
    await page.goto(shops.page('/form', `<form onsubmit="return false">${field}</form>`));
    await submit(EMAIL.trim());
    await shops.settled(page);
    expect(toldAbout(shops.posts)).toEqual([]);
  });

  it('is not taken from an ignored form, nor while somebody types, nor where the site does not want it', async () => {
    await page.goto(shops.page('/form', FORM.replace('<form', '<form data-cc-ignore onsubmit="return false"')));
    await submit(EMAIL.trim());
    await page.goto(shops.page('/typed', FORM));
    await page.type('input', EMAIL.trim());
    await page.press('input', 'Tab');
    await page.goto(shops.page('/form', FORM.replace('<form', '<form onsubmit="return false"'), { site: 'quiet' }));
    await submit(EMAIL.trim());
    await shops.settled(page);
    expect(toldAbout(shops.posts)).toEqual([]);
    // By the site's own code it is wanted there too.
    await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
    await shops.posted('identify');
  });

  it('is told by code, in both spellings, before and after the tag has come', async () => {
    const before =
      '<script>cc.identifyEmail("first@customer.example"); cc("identifyEmail", "second@customer.example"); early = cc</script>';
    await page.goto(shops.page('/code', '', { snippet: shops.snippet().replace('</script>', `</script>${before}`) }));
    await shops.posted('identify', 2);
    await page.evaluate((email) => {
      cc('identifyEmail', email);
      cc('identifyEmail', 'not an address');
      cc('identifyEmail');
      cc('nonsense', {});
      cc.identifyEmail('third@customer.example');
      // Whoever took hold of the queue before.
      (globalThis as unknown as { early: Cc }).early('identifyEmail', 'fourth@customer.example');
    }, EMAIL);
    const posts = await shops.posted('identify', 5);
    await shops.settled(page);
    expect(posts.map(({ body }) => body.hash).sort()).toEqual(
      [...['first', 'second', 'third', 'fourth'].map((name) => sha256(`${name}@customer.example`)), HASH].sort(),
    );
    expect(await page.evaluate(() => Object.keys(window).filter((name) => /^_?cc/i.test(name)))).toEqual(['cc']);
  });

  it('stays with the visitor: a later landing tells whose it is', async () => {
    const address = shops.page('/code');
    await page.goto(address);
    await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
    await shops.posted('identify');
    await page.goto(`${address}?gclid=later`);
    const [, collect] = (await shops.posted('collect', 2)) as [Post, Post];
    expect(collect.body).toMatchObject({ hash: HASH, clicks: { gclid: { id: 'later' } } });
    expect(await stored()).toMatch(HASH);
    expect(decodeAll(await stored())).not.toMatch(/customer/i);
  });

  it('is not identified where the browser cannot hash: on plain http', async () => {
    // Names that do not end in localhost are not trusted; the browser is told where they lead.
    const [, port] = /:(\d+)/.exec(shops.address('')) as unknown as [string, string];
    const plain = (await launchChromium({
      args: [`--host-resolver-rules=MAP *.example 127.0.0.1:${port}`],
    })) as Browser;
    try {
      page = await plain.newPage();
      await page.goto(`${shops.page('/form', FORM, { top: 'example' })}?gclid=G1`);
      await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
      await shops.settled(page);
      const [collect] = (await shops.posted('collect')) as [Post];
      expect(collect.body).toMatchObject({ visitor: expect.stringMatching(UUID), clicks: { gclid: { id: 'G1' } } });
      expect(toldAbout(shops.posts)).toEqual([]);
    } finally {
      await plain.close();
    }
  });
});

describe('consent', () => {
  it('that is withdrawn removes what was stored and tells the service, and a later yes tells that too', async () => {
    await page.goto(`${shops.page('/code')}?gclid=G1`);
    await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
    const [identify] = (await shops.posted('identify')) as [Post];
    await page.evaluate(() => cc('consent', 'denied'));
    const [withdrawal] = (await shops.posted('consent')) as [Post];
    const { visitor, visit } = identify.body;
    expect(withdrawal.body).toEqual({ v: 1, visitor, visit, hash: HASH, consent: DENIED });
    await shops.settled(page);
    const kept = decodeAll(await stored());
    expect(kept).toMatch('denied');
    for (const secret of [visitor, visit, HASH, 'G1']) expect(kept).not.toMatch(secret);

    // Said again it is nothing new; on the next page it still holds.
    await page.evaluate(() => cc('consent', 'denied'));
    await page.goto(`${shops.page('/code')}?gclid=G2`);
    await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
    const [, optOut, ...more] = (await shops.posted('consent', 2)) as [Post, Post];
    await shops.settled(page);
    expect(optOut.body).toEqual({ v: 1, hash: HASH, consent: DENIED });
    expect(more).toEqual([]);
    expect(shops.posts.filter(({ to }) => to !== 'consent')).toHaveLength(2);
    expect(decodeAll(await stored())).not.toMatch(/G2|clicks/);

    await page.evaluate(() => cc('consent', 'granted'));
    const [, , yes] = (await shops.posted('consent', 3)) as [Post, Post, Post];
    const [, again] = (await shops.posted('identify', 2)) as [Post, Post];
    expect(yes.body).toMatchObject({ hash: HASH, consent: GRANTED });
    expect(again.body).toMatchObject({ hash: HASH, clicks: { gclid: { id: 'G2' } }, consent: GRANTED });
    expect(again.body.visitor).not.toBe(visitor);
  });

  it('that a site requires is waited for, and releases what the page has seen', async () => {
    const address = shops.page('/code', FORM.replace('<form', '<form onsubmit="return false"'), { site: 'strict' });
    await page.goto(`${address}?gclid=G1&utm_source=news`);
    await submit(EMAIL.trim());
    await shops.settled(page);
    expect(shops.posts.filter(({ to }) => to !== 'fence')).toEqual([]);
    expect(await stored()).toBe('{}');
    await page.evaluate(() => cc('consent', { ad_storage: 'granted', ad_user_data: 'granted', junk: 'granted' }));
    const [collect] = (await shops.posted('collect')) as [Post];
    const [identify] = (await shops.posted('identify')) as [Post];
    const consent = { ad_storage: 'granted', ad_user_data: 'granted' };
    expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } }, utm: { source: 'news' }, consent });
    expect(identify.body).toMatchObject({ hash: HASH, clicks: { gclid: { id: 'G1' } }, consent });
    expect(await stored()).toMatch('G1');
    // The yes holds on the next page, and its withdrawal is told.
    await page.goto(`${address}?gclid=G2`);
    await shops.posted('collect', 2);
    await page.evaluate(() => cc('consent', 'denied'));
    await expectSoon(() => shops.posts.at(-1)?.body.consent, DENIED);
    expect(shops.posts.at(-1)?.body).toMatchObject({ hash: HASH, visitor: collect.body.visitor });
    const before = shops.posts.length;
    await submit(EMAIL.trim());
    await page.goto(`${address}?gclid=G3`);
    await submit(EMAIL.trim());
    await shops.settled(page);
    expect(shops.posts.length).toBe(before);
    expect(decodeAll(await stored())).not.toMatch(/G[123]|clicks/);
  });

  it('that a site requires and does not get leaves no trace', async () => {
    const address = shops.page('/code', FORM.replace('<form', '<form onsubmit="return false"'), { site: 'strict' });
    await page.goto(`${address}?gclid=G1`);
    await submit(EMAIL.trim());
    await page.evaluate(() => cc('consent', { analytics_storage: 'granted', ad_storage: 'granted' }));
    await page.evaluate(() => cc('consent', 'denied'));
    await shops.settled(page);
    expect(shops.posts).toEqual([]);
    // What was held is gone with the page, as far as it is not in the new one's address.
    await page.goto(address);
    await page.evaluate(() => cc('consent', 'granted'));
    const [collect] = (await shops.posted('collect')) as [Post];
    expect(collect.body.clicks).toEqual({});
    expect(collect.body).not.toHaveProperty('hash');
  });

  it('is denied by Global Privacy Control, whatever else is said', async () => {
    const address = shops.page('/form', FORM.replace('<form', '<form onsubmit="return false"'));
    await page.goto(`${address}?gclid=G1`);
    const [collect] = (await shops.posted('collect')) as [Post];
    await context.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true });
    });
    await page.goto(`${address}?gclid=G2`);
    const gpc = { ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied', gpc: true };
    const [withdrawal] = (await shops.posted('consent')) as [Post];
    expect(withdrawal.body).toEqual({ v: 1, visitor: collect.body.visitor, visit: collect.body.visit, consent: gpc });
    await page.evaluate(() => cc('consent', 'granted'));
    await submit(EMAIL.trim());
    const [, optOut] = (await shops.posted('consent', 2)) as [Post, Post];
    expect(optOut.body).toEqual({ v: 1, hash: HASH, consent: { ...GRANTED, ...gpc } });
    await shops.settled(page);
    expect(shops.posts).toHaveLength(3);
    expect(decodeAll(await stored())).not.toMatch(/G[12]|clicks/);
  });

  it('is heard from Google’s Consent Mode, said before and after the tag has come', async () => {
    const before = `<script>${GTAG}
      gtag('consent', 'default', { ad_storage: 'denied', ad_user_data: 'denied', region: ['DE'], wait_for_update: 500 });
      gtag('consent', 'default', { ad_storage: 'granted', ad_user_data: 'granted' });
      dataLayer.push({ event: 'x' }, null)</script>`;
    const address = shops.page('/code', '', { before });
    await page.goto(`${address}?gclid=G1`);
    await shops.settled(page);
    expect(shops.posts).toEqual([]);
    expect(await stored()).toBe('{}');
    const length = await page.evaluate(() => {
      const { dataLayer } = window as unknown as { dataLayer: unknown[] };
      (function (..._: unknown[]) {
        // biome-ignore lint/complexity/noArguments: it is what gtag pushes.
        dataLayer.push(arguments);
      })('consent', 'update', { ad_storage: 'granted', ad_user_data: 'granted' });
      return dataLayer.push({ event: 'y' });
    });
    expect(length).toBe(6);
    const [collect] = (await shops.posted('collect')) as [Post];
    const consent = { ad_storage: 'granted', ad_user_data: 'granted' };
    expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } }, consent });
    // On the next page the default comes again; what the visitor said outranks it, and nothing is lost.
    await page.goto(`${address}?gclid=G2`);
    const [, second] = (await shops.posted('collect', 2)) as [Post, Post];
    expect(second.body).toMatchObject({ visitor: collect.body.visitor, consent });
  });

  it('is heard from a dataLayer that the page makes late', async () => {
    await page.goto(shops.page('/code', '', { site: 'strict' }));
    await page.waitForFunction(() => 'isTag' in cc);
    await page.addScriptTag({
      content: `${GTAG}; gtag('consent', 'update', { ad_storage: 'granted', ad_user_data: 'granted' })`,
    });
    await page.mouse.click(5, 5);
    await shops.posted('collect');
  });
});

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
    expect(decodeAll(await stored())).toMatch('newest');
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
      await context.close();
      await newPage();
      for (const block of blocked) await context.addInitScript(block);
      await page.goto(`${address}?gclid=G1`);
      const [collect] = (await shops.posted('collect')) as [Post];
      if (blocked.length === 1) await page.goto(address);
      await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
      const [identify] = (await shops.posted('identify')) as [Post];
      const { visitor, visit } = collect.body;
      expect(identify.body).toMatchObject({ visitor, visit, hash: HASH, clicks: { gclid: { id: 'G1' } } });
      await page.evaluate(() => cc('consent', 'denied'));
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
    await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
    await shops.posted('identify');
  });

  it('in two tabs is one visitor, and one tab’s no is the other’s', async () => {
    const address = shops.page('/code');
    await page.goto(`${address}?gclid=G1`);
    const [first] = (await shops.posted('collect')) as [Post];
    const other = await context.newPage();
    await other.goto(`${address}?gclid=G2`);
    await shops.posted('collect', 2);
    await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
    const [identify] = (await shops.posted('identify')) as [Post];
    expect(identify.body).toMatchObject({ visitor: first.body.visitor, clicks: { gclid: { id: 'G2' } } });
    // Reloaded, the first tab has the older click in its address: the newer one stays.
    await page.reload();
    await other.evaluate(() => cc('consent', 'denied'));
    await shops.posted('consent');
    await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
    const [, optOut] = (await shops.posted('consent', 2)) as [Post, Post];
    expect(optOut.body).toEqual({ v: 1, hash: HASH, consent: DENIED });
    expect(await shops.posted('collect')).toHaveLength(2);
    expect(decodeAll(await stored())).not.toMatch(/G[12]|clicks/);
  });

  it('on another host of the domain belongs to the same visitor', async () => {
    const address = shops.page('/code');
    await page.goto(`${address}?gclid=G1`);
    const [collect] = (await shops.posted('collect')) as [Post];
    await page.goto(address.replace('shop.', 'www.shop.'));
    await page.evaluate((email) => cc.identifyEmail(email), EMAIL);
    const [identify] = (await shops.posted('identify')) as [Post];
    const { visitor, visit } = collect.body;
    expect(identify.body).toMatchObject({ visitor, visit, clicks: { gclid: { id: 'G1' } } });
    // Denied there, it is void here too, though that page could not reach this host's localStorage.
    await page.evaluate(() => cc('consent', 'denied'));
    await page.evaluate(() => cc('consent', 'granted'));
    await shops.posted('collect', 2);
    await page.goto(`${address}?msclkid=M1`);
    const [, , last] = (await shops.posted('collect', 3)) as [Post, Post, Post];
    expect(last.body.visitor).not.toBe(visitor);
  });

  it('tries again when the service is away, and does not when it refuses', async () => {
    shops.failures = 1;
    await page.goto(shops.page('/code'));
    await shops.posted('collect');
    complaints = complaints.filter((text) => !/503/.test(text));
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
    await page.evaluate(() => cc('consent', { toString: null }));
  });
});

async function newPage(options: BrowserContextOptions = {}): Promise<void> {
  complaints = [];
  context = await browser.newContext(options);
  context.on('weberror', (error) => complaints.push(String(error.error())));
  context.on('console', (message) => {
    if (/error|warning/.test(message.type())) complaints.push(message.text());
  });
  page = await context.newPage();
}

/** As a visitor does, except that hidden fields are filled in too. */
async function submit(value: string): Promise<void> {
  await page.evaluate((text) => {
    const form = document.querySelector('form') as HTMLFormElement;
    for (const field of Array.from(form.elements)) (field as HTMLInputElement).value = text;
    form.requestSubmit();
  }, value);
}

/** Everything that the page's host keeps in this browser. */
async function stored(): Promise<string> {
  const kept = await page.evaluate(() => ({ ...localStorage }));
  for (const { name, value } of await context.cookies(page.url())) kept[`cookie ${name}`] = value;
  return JSON.stringify(kept);
}

function toldAbout(posts: Post[]): Post[] {
  return posts.filter(({ to, body }) => to === 'identify' || to === 'consent' || body.hash);
}

function decodeAll(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function expectSoon(look: () => unknown, expected: unknown): Promise<void> {
  for (let waits = 0; waits < 600 && JSON.stringify(look()) !== JSON.stringify(expected); waits += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(look()).toEqual(expected);
}
