import type { Browser } from 'playwright-core';
import {
  context,
  EMAIL,
  FORM,
  HASH,
  INERT_FORM,
  identifyEmail,
  type Post,
  page,
  personalPosts,
  sha256,
  shop,
  storedText,
  submit,
  testTag,
} from './browser-setup.js';
import { launchChromium } from './chromium.mjs';
import { DOC_SAMPLES } from './shop-server.js';

testTag();

describe('an email address', () => {
  it('is identified when a form is submitted and the page navigates', async () => {
    shop.page('/thanks');
    await page.goto(`${shop.page('/form', FORM.replace('<form', '<form method="post"'))}?gclid=G1`);
    await page.fill('input', EMAIL.trim());
    await page.click('button');
    const [post] = (await shop.waitForPosts('identify')) as [Post];
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
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

  it('is identified on every submit, even when the page is left at once', async () => {
    shop.page('/thanks');
    const address = shop.page('/form', FORM);
    for (let round = 0; round < 20; round += 1) {
      await page.goto(`${address}?gclid=G${round}`);
      await page.fill('input', EMAIL.trim());
      await page.click('button');
      await page.waitForURL('**/thanks*');
    }
    expect(await shop.waitForPosts('identify', 20)).toHaveLength(20);
  });

  it('is identified when a script sends the form, and again only when something changed', async () => {
    const script =
      '<script>addEventListener("submit", (event) => { event.preventDefault(); event.stopPropagation() }, true)</script>';
    // An email field by name, not by type, and the honeypot sample.
    const form = `<form><input name="user_email">${DOC_SAMPLES.html[2]}<button>Send</button></form>`;
    await page.goto(shop.page('/form', form + script));
    await page.fill('[name=user_email]', EMAIL);
    await page.click('button');
    await page.click('button');
    await page.evaluate(() => (document.querySelector('form') as HTMLFormElement).requestSubmit());
    await shop.waitForIdle(page);
    const [post, ...more] = (await shop.waitForPosts('identify')) as [Post];
    expect(more).toEqual([]);
    expect(post.body).toMatchObject({ hash: HASH, signals: { honeypot: false } });
    // A pixel that loads later sets its cookie.
    await context.addCookies([{ name: '_fbp', value: 'fb.1.2.3', url: page.url() }]);
    await page.fill('[name=website]', 'http://spam.example');
    await page.click('button');
    const [, second] = (await shop.waitForPosts('identify', 2)) as [Post, Post];
    expect(second.body).toMatchObject({ cookies: { _fbp: 'fb.1.2.3' }, signals: { honeypot: true } });
  });

  it.each([
    ['a password field', '<input type="password" name="email_password">'],
    ['a card field', '<input type="text" name="email" autocomplete="cc-name">'],
    ['a hidden field', '<input type="hidden" name="email">'],
    ['a text field without email in its name', '<input type="text" name="comment">'],
    ['an ignored field', '<input type="email" name="email" data-cc-ignore>'],
    ['a field inside an ignored element', '<div data-cc-ignore><input type="email" name="email"></div>'],
    ['a honeypot field', '<input type="text" name="email" data-cc-honeypot>'],
  ])('is not read from %s', async (_, field) => {
    await page.goto(shop.page('/form', `<form onsubmit="return false">${field}</form>`));
    await submit(EMAIL.trim());
    await shop.waitForIdle(page);
    expect(personalPosts()).toEqual([]);
  });

  it('is not read from an ignored form, while typing, or where the site disables capture', async () => {
    await page.goto(shop.page('/form', DOC_SAMPLES.html[1].replace('<form', '<form onsubmit="return false"')));
    await submit(EMAIL.trim());
    const outside = '<form id="f" data-cc-ignore onsubmit="return false"></form><input type="email" form="f">';
    await page.goto(shop.page('/outside', outside));
    await submit(EMAIL.trim());
    await page.goto(shop.page('/typed', FORM));
    await page.type('input', EMAIL.trim());
    await page.press('input', 'Tab');
    await page.goto(shop.page('/form', INERT_FORM, { site: 'quiet' }));
    await submit(EMAIL.trim());
    await shop.waitForIdle(page);
    expect(personalPosts()).toEqual([]);
    // The site's own code may still identify it.
    await identifyEmail();
    await shop.waitForPosts('identify');
  });

  it('is identified by both call forms, before and after the tag loads', async () => {
    const before =
      '<script>cc.identifyEmail("first@customer.example"); cc("identifyEmail", "second@customer.example"); early = cc</script>';
    await page.goto(shop.page('/code', '', { snippet: shop.snippet().replace('</script>', `</script>${before}`) }));
    await shop.waitForPosts('identify', 2);
    await page.evaluate((email) => {
      cc('identifyEmail', email);
      cc('identifyEmail', 'not an address');
      cc('identifyEmail');
      cc('nonsense', {});
      cc.identifyEmail('third@customer.example');
      // A reference to the snippet's queue from before the tag loaded.
      (globalThis as unknown as { early: typeof cc }).early('identifyEmail', 'fourth@customer.example');
    }, EMAIL);
    await page.evaluate(DOC_SAMPLES.js[0]);
    await shop.waitForPosts('identify', 6);
    await shop.waitForIdle(page);
    const posts = await shop.waitForPosts('identify', 6);
    expect(posts.map(({ body }) => body.hash).sort()).toEqual(
      [
        ...['first', 'second', 'third', 'fourth'].map((name) => sha256(`${name}@customer.example`)),
        sha256('jo@shop.example'),
        HASH,
      ].sort(),
    );
    expect(await page.evaluate(() => Object.keys(window).filter((name) => /^_?cc/i.test(name)))).toEqual(['cc']);
  });

  it('is stored as a hash and sent with a later landing', async () => {
    const address = shop.page('/code');
    await page.goto(address);
    await identifyEmail();
    await shop.waitForPosts('identify');
    await page.goto(`${address}?gclid=later`);
    const [, collect] = (await shop.waitForPosts('collect', 2)) as [Post, Post];
    expect(collect.body).toMatchObject({ hash: HASH, clicks: { gclid: { id: 'later' } } });
    expect(await storedText()).toMatch(HASH);
    expect(await storedText()).not.toMatch(/customer/i);
  });

  it('is not identified on plain http, where the browser cannot hash', async () => {
    // Browsers treat only names below localhost as secure. This one maps other names to the test server.
    const [, port] = /:(\d+)/.exec(shop.address('')) as unknown as [string, string];
    const plain = (await launchChromium({
      args: [`--host-resolver-rules=MAP *.example 127.0.0.1:${port}`],
    })) as Browser;
    try {
      const here = await plain.newPage();
      shop.watch(here.context());
      await here.goto(`${shop.page('/form', FORM, { top: 'example' })}?gclid=G1`);
      await here.waitForFunction(() => 'isTag' in cc);
      await here.evaluate((email) => cc.identifyEmail(email), EMAIL);
      await shop.waitForIdle(here);
      const [collect] = (await shop.waitForPosts('collect')) as [Post];
      expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } } });
      expect(personalPosts()).toEqual([]);
    } finally {
      await plain.close();
    }
  });
});
