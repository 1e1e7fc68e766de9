import {
  context,
  DENIED,
  EMAIL,
  GRANTED,
  HASH,
  identifyEmail,
  type Post,
  page,
  STILL_FORM,
  say,
  shops,
  stored,
  submit,
} from './browsing.js';
import { SHOWN } from './shop.js';

const GTAG = 'window.dataLayer = window.dataLayer || []; function gtag() { dataLayer.push(arguments) }';

describe('consent', () => {
  it('that is withdrawn removes what was stored and tells the service, and a later yes tells that too', async () => {
    await page.goto(`${shops.page('/code')}?gclid=G1`);
    await identifyEmail();
    const [identify] = (await shops.posted('identify')) as [Post];
    await say('denied');
    const [withdrawal] = (await shops.posted('consent')) as [Post];
    const { visitor, visit } = identify.body;
    expect(withdrawal.body).toEqual({ v: 1, visitor, visit, hash: HASH, consent: DENIED });
    await shops.settled(page);
    const kept = await stored();
    expect(kept).toMatch('denied');
    for (const secret of [visitor, visit, HASH, 'G1']) expect(kept).not.toMatch(secret);

    // Said again it is nothing new; on the next page it still holds.
    await say('denied');
    await page.goto(`${shops.page('/code')}?gclid=G2`);
    await identifyEmail();
    const [, optOut, ...more] = (await shops.posted('consent', 2)) as [Post, Post];
    await shops.settled(page);
    expect(optOut.body).toEqual({ v: 1, hash: HASH, consent: DENIED });
    expect(more).toEqual([]);
    expect(shops.posts.filter(({ to }) => to !== 'consent')).toHaveLength(2);
    expect(await stored()).not.toMatch(/G2|clicks/);

    await say('granted');
    const [, , yes] = (await shops.posted('consent', 3)) as [Post, Post, Post];
    const [, again] = (await shops.posted('identify', 2)) as [Post, Post];
    expect(yes.body).toMatchObject({ hash: HASH, consent: GRANTED });
    expect(again.body).toMatchObject({ hash: HASH, clicks: { gclid: { id: 'G2' } }, consent: GRANTED });
    expect(again.body.visitor).not.toBe(visitor);
  });

  it('that a site requires is waited for, and releases what the page has seen', async () => {
    const address = shops.page('/code', STILL_FORM, { site: 'strict' });
    await page.goto(`${address}?gclid=G1&utm_source=news`);
    await submit(EMAIL.trim());
    await shops.settled(page);
    expect(shops.posts.filter(({ to }) => to !== 'fence')).toEqual([]);
    expect(await stored()).toBe('{}');
    await say({ ad_storage: 'granted', ad_user_data: 'granted', junk: 'granted' });
    const [collect] = (await shops.posted('collect')) as [Post];
    const [identify] = (await shops.posted('identify')) as [Post];
    const consent = { ad_storage: 'granted', ad_user_data: 'granted' };
    expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } }, utm: { source: 'news' }, consent });
    expect(identify.body).toMatchObject({ hash: HASH, clicks: { gclid: { id: 'G1' } }, consent });
    expect(await stored()).toMatch('G1');
    // The yes holds on the next page, and its withdrawal is told.
    await page.goto(`${address}?gclid=G2`);
    await shops.posted('collect', 2);
    await say('denied');
    const [, withdrawal] = (await shops.posted('consent', 2)) as [Post, Post];
    expect(withdrawal.body).toMatchObject({ hash: HASH, visitor: collect.body.visitor, consent: DENIED });
    const before = shops.posts.length;
    await submit(EMAIL.trim());
    await page.goto(`${address}?gclid=G3`);
    await submit(EMAIL.trim());
    await shops.settled(page);
    expect(shops.posts.length).toBe(before);
    expect(await stored()).not.toMatch(/G[123]|clicks/);
  });

  it('that a site requires and does not get leaves no trace', async () => {
    const address = shops.page('/code', STILL_FORM, { site: 'strict' });
    await page.goto(`${address}?gclid=G1`);
    await submit(EMAIL.trim());
    await say({ analytics_storage: 'granted', ad_storage: 'granted' });
    await say('denied');
    await shops.settled(page);
    expect(shops.posts).toEqual([]);
    // What was held is gone with the page, as far as it is not in the new one's address.
    await page.goto(address);
    await say('granted');
    const [collect] = (await shops.posted('collect')) as [Post];
    expect(collect.body.clicks).toEqual({});
    expect(collect.body).not.toHaveProperty('hash');
  });

  it('is denied by Global Privacy Control, whatever else is said', async () => {
    const address = shops.page('/form', STILL_FORM);
    await page.goto(`${address}?gclid=G1`);
    const [collect] = (await shops.posted('collect')) as [Post];
    await context.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true });
    });
    await page.goto(`${address}?gclid=G2`);
    const gpc = { ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied', gpc: true };
    const [withdrawal] = (await shops.posted('consent')) as [Post];
    expect(withdrawal.body).toEqual({ v: 1, visitor: collect.body.visitor, visit: collect.body.visit, consent: gpc });
    await say('granted');
    await submit(EMAIL.trim());
    const [, optOut] = (await shops.posted('consent', 2)) as [Post, Post];
    expect(optOut.body).toEqual({ v: 1, hash: HASH, consent: { ...GRANTED, ...gpc } });
    await shops.settled(page);
    expect(shops.posts).toHaveLength(3);
    expect(await stored()).not.toMatch(/G[12]|clicks/);
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

  it('is heard as the document shows it', async () => {
    await page.goto(shops.page('/code'));
    await shops.posted('collect');
    await page.evaluate(SHOWN.js[1]);
    // Granted, denied, and then field by field; nobody is known yet, so only the withdrawal is told.
    const [withdrawal] = (await shops.posted('consent')) as [Post];
    expect(withdrawal.body.consent).toEqual(DENIED);
    const [, again] = (await shops.posted('collect', 2)) as [Post, Post];
    expect(again.body.consent).toEqual({ ...DENIED, ad_storage: 'granted', ad_user_data: 'granted' });
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
