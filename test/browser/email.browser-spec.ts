import type { Browser } from 'playwright-core';
import {
  context,
  EMAIL,
  FORM,
  HASH,
  identifyEmail,
  type Post,
  page,
  STILL_FORM,
  sha256,
  shops,
  stored,
  submit,
  toldOfSomebody,
} from './browsing.js';
import { launchChromium } from './chromium.mjs';
import { SHOWN } from './shop.js';

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
    const form = `<form><input name="user_email">${SHOWN.html[2]}<button>Send</button></form>`;
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
    await page.fill('[name=website]', 'http://spam.example');
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
    expect(toldOfSomebody()).toEqual([]);
  });

  it('is not taken from an ignored form, nor while somebody types, nor where the site does not want it', async () => {
    await page.goto(shops.page('/form', SHOWN.html[1].replace('<form', '<form onsubmit="return false"')));
    await submit(EMAIL.trim());
    const outside = '<form id="f" data-cc-ignore onsubmit="return false"></form><input type="email" form="f">';
    await page.goto(shops.page('/outside', outside));
    await submit(EMAIL.trim());
    await page.goto(shops.page('/typed', FORM));
    await page.type('input', EMAIL.trim());
    await page.press('input', 'Tab');
    await page.goto(shops.page('/form', STILL_FORM, { site: 'quiet' }));
    await submit(EMAIL.trim());
    await shops.settled(page);
    expect(toldOfSomebody()).toEqual([]);
    // By the site's own code it is wanted there too.
    await identifyEmail();
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
      (globalThis as unknown as { early: typeof cc }).early('identifyEmail', 'fourth@customer.example');
    }, EMAIL);
    await page.evaluate(SHOWN.js[0]);
    const posts = await shops.posted('identify', 6);
    await shops.settled(page);
    expect(posts.map(({ body }) => body.hash).sort()).toEqual(
      [
        ...['first', 'second', 'third', 'fourth'].map((name) => sha256(`${name}@customer.example`)),
        sha256('jo@shop.example'),
        HASH,
      ].sort(),
    );
    expect(await page.evaluate(() => Object.keys(window).filter((name) => /^_?cc/i.test(name)))).toEqual(['cc']);
  });

  it('stays with the visitor: a later landing tells whose it is', async () => {
    const address = shops.page('/code');
    await page.goto(address);
    await identifyEmail();
    await shops.posted('identify');
    await page.goto(`${address}?gclid=later`);
    const [, collect] = (await shops.posted('collect', 2)) as [Post, Post];
    expect(collect.body).toMatchObject({ hash: HASH, clicks: { gclid: { id: 'later' } } });
    expect(await stored()).toMatch(HASH);
    expect(await stored()).not.toMatch(/customer/i);
  });

  it('is not identified where the browser cannot hash: on plain http', async () => {
    // Names that do not end in localhost are not trusted; the browser is told where they lead.
    const [, port] = /:(\d+)/.exec(shops.address('')) as unknown as [string, string];
    const plain = (await launchChromium({
      args: [`--host-resolver-rules=MAP *.example 127.0.0.1:${port}`],
    })) as Browser;
    try {
      const here = await plain.newPage();
      await here.goto(`${shops.page('/form', FORM, { top: 'example' })}?gclid=G1`);
      await here.waitForFunction(() => 'isTag' in cc);
      await here.evaluate((email) => cc.identifyEmail(email), EMAIL);
      await shops.settled(here);
      const [collect] = (await shops.posted('collect')) as [Post];
      expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } } });
      expect(toldOfSomebody()).toEqual([]);
    } finally {
      await plain.close();
    }
  });
});
