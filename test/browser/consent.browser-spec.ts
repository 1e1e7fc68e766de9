import {
  context,
  DENIED,
  EMAIL,
  GRANTED,
  HASH,
  INERT_FORM,
  identifyEmail,
  type Post,
  page,
  setConsent,
  shop,
  storedText,
  submit,
  testTag,
} from './browser-setup.js';
import { DOC_SAMPLES } from './shop-server.js';

testTag();

const GTAG = 'window.dataLayer = window.dataLayer || []; function gtag() { dataLayer.push(arguments) }';

describe('consent', () => {
  it('erases the record and notifies the service when withdrawn, and notifies it again when granted', async () => {
    await page.goto(`${shop.page('/code')}?gclid=G1`);
    await identifyEmail();
    const [identify] = (await shop.waitForPosts('identify')) as [Post];
    await setConsent('denied');
    const [withdrawal] = (await shop.waitForPosts('consent')) as [Post];
    const { visitor, visit } = identify.body;
    const { statement } = withdrawal.body;
    expect(withdrawal.body).toEqual({ v: 1, visitor, visit, hash: HASH, consent: DENIED, statement });
    expect(statement).toEqual(expect.any(String));
    await shop.waitForIdle(page);
    const afterWithdrawal = await storedText();
    expect(afterWithdrawal).toMatch('denied');
    for (const erased of [visitor, visit, HASH, 'G1']) expect(afterWithdrawal).not.toMatch(erased);

    // A repeated denial sends nothing. The denial also applies to the next page.
    await setConsent('denied');
    await page.goto(`${shop.page('/code')}?gclid=G2`);
    await identifyEmail();
    await shop.waitForPosts('consent', 2);
    await shop.waitForIdle(page);
    const [, optOut, ...more] = (await shop.waitForPosts('consent', 2)) as [Post, Post];
    expect(optOut.body).toEqual({ v: 1, hash: HASH, consent: DENIED, statement });
    expect(more).toEqual([]);
    expect(shop.posts.filter(({ endpoint }) => endpoint !== 'consent')).toHaveLength(2);
    expect(await storedText()).not.toMatch(/G2|clicks/);

    await setConsent('granted');
    const [, , grant] = (await shop.waitForPosts('consent', 3)) as [Post, Post, Post];
    const [, again] = (await shop.waitForPosts('identify', 2)) as [Post, Post];
    // The same id as with the denial: only who holds it can take the denial back.
    expect(grant.body).toMatchObject({ hash: HASH, consent: GRANTED, statement });
    expect(again.body).toMatchObject({ hash: HASH, statement, clicks: { gclid: { id: 'G2' } }, consent: GRANTED });
    expect(again.body.visitor).not.toBe(visitor);
  });

  it('is awaited where the site requires it, and then sends the landing and the email', async () => {
    const address = shop.page('/code', INERT_FORM, { site: 'strict' });
    await page.goto(`${address}?gclid=G1&utm_source=news`);
    await submit(EMAIL.trim());
    await shop.waitForIdle(page);
    expect(shop.posts).toEqual([]);
    expect(await storedText()).toBe('{}');
    await setConsent({ ad_storage: 'granted', ad_user_data: 'granted', junk: 'granted' });
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
    const [identify] = (await shop.waitForPosts('identify')) as [Post];
    const consent = { ad_storage: 'granted', ad_user_data: 'granted' };
    expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } }, utm: { source: 'news' }, consent });
    expect(identify.body).toMatchObject({ hash: HASH, clicks: { gclid: { id: 'G1' } }, consent });
    expect(await storedText()).toMatch('G1');
    // The grant applies to the next page too, and its withdrawal is sent.
    await page.goto(`${address}?gclid=G2`);
    await shop.waitForPosts('collect', 2);
    await setConsent('denied');
    const [, withdrawal] = (await shop.waitForPosts('consent', 2)) as [Post, Post];
    expect(withdrawal.body).toMatchObject({ hash: HASH, visitor: collect.body.visitor, consent: DENIED });
    const before = shop.posts.length;
    await submit(EMAIL.trim());
    await page.goto(`${address}?gclid=G3`);
    await submit(EMAIL.trim());
    await shop.waitForIdle(page);
    expect(shop.posts.length).toBe(before);
    expect(await storedText()).not.toMatch(/G[123]|clicks/);
  });

  it('stores and sends nothing when required and denied', async () => {
    const address = shop.page('/code', INERT_FORM, { site: 'strict' });
    await page.goto(`${address}?gclid=G1`);
    await submit(EMAIL.trim());
    await setConsent({ analytics_storage: 'granted', ad_storage: 'granted' });
    await setConsent('denied');
    await shop.waitForIdle(page);
    expect(shop.posts).toEqual([]);
    // The denied page held the landing in memory only, so the next page does not have it.
    await page.goto(address);
    await setConsent('granted');
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
    expect(collect.body.clicks).toEqual({});
    expect(collect.body).not.toHaveProperty('hash');
  });

  it('is denied by Global Privacy Control even when granted by a call', async () => {
    const address = shop.page('/form', INERT_FORM);
    await page.goto(`${address}?gclid=G1`);
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
    await context.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true });
    });
    await page.goto(`${address}?gclid=G2`);
    const gpc = { ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied', gpc: true };
    const [withdrawal] = (await shop.waitForPosts('consent')) as [Post];
    expect(withdrawal.body).toEqual({ v: 1, visitor: collect.body.visitor, visit: collect.body.visit, consent: gpc });
    await setConsent('granted');
    await submit(EMAIL.trim());
    const [, optOut] = (await shop.waitForPosts('consent', 2)) as [Post, Post];
    const statement = expect.any(String);
    expect(optOut.body).toEqual({ v: 1, hash: HASH, consent: { ...GRANTED, ...gpc }, statement });
    await shop.waitForIdle(page);
    expect(shop.posts).toHaveLength(3);
    expect(await storedText()).not.toMatch(/G[12]|clicks/);
  });

  it('is read from Google Consent Mode calls made before and after the tag loads', async () => {
    const before = `<script>${GTAG}
      gtag('consent', 'default', { ad_storage: 'denied', ad_user_data: 'denied', region: ['DE'], wait_for_update: 500 });
      gtag('consent', 'default', { ad_storage: 'granted', ad_user_data: 'granted' });
      dataLayer.push({ event: 'x' }, null)</script>`;
    const address = shop.page('/code', '', { before });
    await page.goto(`${address}?gclid=G1`);
    await shop.waitForIdle(page);
    expect(shop.posts).toEqual([]);
    expect(await storedText()).toBe('{}');
    const length = await page.evaluate(() => {
      const { dataLayer } = window as unknown as { dataLayer: unknown[] };
      (function (..._: unknown[]) {
        // biome-ignore lint/complexity/noArguments: gtag pushes its arguments object.
        dataLayer.push(arguments);
      })('consent', 'update', { ad_storage: 'granted', ad_user_data: 'granted' });
      return dataLayer.push({ event: 'y' });
    });
    expect(length).toBe(6);
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
    const consent = { ad_storage: 'granted', ad_user_data: 'granted' };
    expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } }, consent });
    // The next page sets the default again. The visitor's decision takes precedence, and the visitor id stays the same.
    await page.goto(`${address}?gclid=G2`);
    const [, second] = (await shop.waitForPosts('collect', 2)) as [Post, Post];
    expect(second.body).toMatchObject({ visitor: collect.body.visitor, consent });
  });

  describe('that a page denies by default', () => {
    const fields = (answer: string) => ({ ad_storage: answer, ad_user_data: answer });
    const script = (...calls: object[]) =>
      `<script>${GTAG} ${calls.map((call) => `gtag('consent', 'default', ${JSON.stringify(call)});`).join('')}</script>`;
    const denying = () => shop.page('/code', INERT_FORM, { before: script(fields('denied')) });
    const update = (answer: string) => page.evaluate(`gtag('consent', 'update', ${JSON.stringify(fields(answer))})`);
    const undecided = { ...fields('denied'), undecided: true };

    async function giveEmail(address: string): Promise<void> {
      await page.goto(`${address}?gclid=G1`);
      await page.waitForFunction(() => 'isTag' in cc);
      await submit(EMAIL);
    }

    it('is reported as undecided with an email, and nothing else is sent or stored', async () => {
      await giveEmail(denying());
      const [report] = (await shop.waitForPosts('consent')) as [Post];
      expect(report.body).toEqual({ v: 1, hash: HASH, consent: undecided, defaultRegions: { elsewhere: true } });
      await shop.waitForIdle(page);
      expect(shop.posts).toHaveLength(1);
      expect(await storedText()).toBe('{}');
    });

    it('is granted when the visitor grants it, with the landing', async () => {
      await giveEmail(denying());
      await shop.waitForPosts('consent');
      await update('granted');
      const [identify] = (await shop.waitForPosts('identify')) as [Post];
      const consent = fields('granted');
      const statement = expect.any(String);
      expect(identify.body).toMatchObject({ hash: HASH, consent, statement, clicks: { gclid: { id: 'G1' } } });
    });

    it('is denied when the visitor denies it, as a decision that can be taken back', async () => {
      await giveEmail(denying());
      await shop.waitForPosts('consent');
      await update('denied');
      const [, denial] = (await shop.waitForPosts('consent', 2)) as [Post, Post];
      const consent = fields('denied');
      expect(denial.body).toEqual({ v: 1, hash: HASH, consent, statement: expect.any(String) });
    });

    it('does not replace what the visitor has granted on another page', async () => {
      await page.goto(shop.page('/code'));
      await setConsent(fields('granted'));
      await shop.waitForPosts('collect');
      await giveEmail(denying());
      const [identify] = (await shop.waitForPosts('identify')) as [Post];
      expect(identify.body).toMatchObject({ hash: HASH, consent: fields('granted') });
      await shop.waitForIdle(page);
      expect(shop.posts.filter(({ endpoint }) => endpoint === 'consent')).toEqual([]);
    });

    it('is reported with the regions that the page names', async () => {
      const calls = [
        { ...fields('denied'), region: ['DE', 'FR'] },
        { ...fields('granted'), region: 'US' },
        fields('granted'),
      ];
      await giveEmail(shop.page('/code', INERT_FORM, { before: script(...calls) }));
      const [report] = (await shop.waitForPosts('consent')) as [Post];
      const defaultRegions = { denied: ['DE', 'FR'], granted: ['US'] };
      expect(report.body).toMatchObject({ hash: HASH, consent: undecided, defaultRegions });
    });
  });

  it('can be set with the calls shown in docs/tag.md', async () => {
    await page.goto(shop.page('/code'));
    await shop.waitForPosts('collect');
    await page.evaluate(DOC_SAMPLES.js[1]);
    // The sample grants, denies, then sets single fields. No email is identified yet, so only the withdrawal is sent.
    const [withdrawal] = (await shop.waitForPosts('consent')) as [Post];
    expect(withdrawal.body.consent).toEqual(DENIED);
    const [, again] = (await shop.waitForPosts('collect', 2)) as [Post, Post];
    expect(again.body.consent).toEqual({ ...DENIED, ad_storage: 'granted', ad_user_data: 'granted' });
  });

  it('is read from a dataLayer that the page creates after the tag has loaded', async () => {
    await page.goto(shop.page('/code', '', { site: 'strict' }));
    await page.waitForFunction(() => 'isTag' in cc);
    await page.addScriptTag({
      content: `${GTAG}; gtag('consent', 'update', { ad_storage: 'granted', ad_user_data: 'granted' })`,
    });
    await page.mouse.click(5, 5);
    await shop.waitForPosts('collect');
  });
});
