import { HASH, identifyEmail, type Post, page, shop, storedText, testTag } from './browser-setup.js';
import { PACKAGES } from './shop-server.js';

testTag();

const GRANTED = { ad_storage: 'granted', ad_user_data: 'granted', ad_personalization: 'granted' };
const DENIED = { ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied' };

/** What a consent manager places above all other scripts: its API queues calls until it has loaded. */
const TCF_STUB = `<script>(function () { var queue = []; window.__tcfapi = function () {
  if (!arguments.length) return queue; queue.push(arguments) } })()</script>`;
const GPP_STUB = `<script>(function () { var queue = []; window.__gpp = function (command) {
  if (!arguments.length) return queue; if (command === 'events') return []; queue.push(arguments) } })()</script>`;

// The managers' own code, from their packages, runs in the page.
const IMPORTS = `<script type="importmap">${JSON.stringify({ imports: PACKAGES })}</script>`;

/** The manager that the page loads: the reference implementation of the IAB. */
interface Manager {
  update(text: string | null, isAsking?: boolean): void;
}
declare const window: Window & {
  manager: Manager;
  tcString(...purposes: number[]): string;
  saleOptOut(value: number): void;
  showBanner(): void;
};

const TCF = `import { CmpApi } from '@iabtcf/cmpapi';
  import { GVL, TCModel, TCString } from '@iabtcf/core';
  const named = (ids) => Object.fromEntries(ids.map((id) => [id, { id, name: '', description: '', illustrations: [] }]));
  window.tcString = (...purposes) => {
    const model = new TCModel(new GVL({ gvlSpecificationVersion: 3, vendorListVersion: 1, tcfPolicyVersion: 5,
      lastUpdated: new Date().toISOString(), purposes: named([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), specialPurposes: {},
      features: {}, specialFeatures: {}, stacks: {}, vendors: {}, dataCategories: {} }));
    Object.assign(model, { cmpId: 3, cmpVersion: 1, isServiceSpecific: true });
    model.purposeConsents.set(purposes);
    return TCString.encode(model);
  };
  window.manager = new CmpApi(3, 1, true);`;

const GPP = `import { CmpApi } from '@iabgpp/cmpapi';
  const api = new CmpApi(3, 1);
  window.showBanner = () => api.setCmpDisplayStatus('visible');
  window.saleOptOut = (value) => {
    api.setFieldValue('usnat', 'SaleOptOut', value);
    api.setApplicableSections([7]);
    api.setSignalStatus('ready');
  };`;

async function load(module: string, ready: string): Promise<void> {
  await page.addScriptTag({ type: 'module', content: module });
  await page.waitForFunction(`window.${ready}`);
}

const tell = (purposes: number[], isAsking: boolean) =>
  page.evaluate(([ids, asking]) => window.manager.update(window.tcString(...ids), asking), [
    purposes,
    isAsking,
  ] as const);

describe('a consent manager', () => {
  it('with the TCF is awaited, and its statement is heard without wiring', async () => {
    const address = shop.page('/tcf', '', { before: TCF_STUB + IMPORTS });
    await page.goto(`${address}?gclid=G1`);
    await identifyEmail();
    await shop.waitForIdle(page);
    expect(shop.posts).toEqual([]);
    expect(await storedText()).toBe('{}');

    await load(TCF, 'manager');
    await tell([1, 2, 3, 4, 7], false);
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
    const [identify] = (await shop.waitForPosts('identify')) as [Post];
    expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } }, consent: GRANTED });
    expect(identify.body).toMatchObject({ consent: GRANTED });

    await tell([1, 2, 3, 4, 7], true);
    await tell([], false);
    const [, withdrawal] = (await shop.waitForPosts('consent', 2)) as [Post, Post];
    expect(withdrawal.body).toMatchObject({ visitor: collect.body.visitor, consent: DENIED });
    expect(await storedText()).not.toMatch('G1');
  });

  it('with the TCF that is loaded after the tag is heard', async () => {
    await page.goto(`${shop.page('/late', '', { before: IMPORTS })}?gclid=G1`);
    await shop.waitForPosts('collect');
    await load(TCF, 'manager');
    await tell([], false);
    await page.evaluate(() => document.dispatchEvent(new Event('DOMContentLoaded')));
    await shop.waitForPosts('consent');
    expect(await storedText()).not.toMatch('G1');
  });

  it('with the TCF where it does not apply changes nothing', async () => {
    await page.goto(`${shop.page('/elsewhere', '', { before: TCF_STUB + IMPORTS })}?gclid=G1`);
    await load(TCF, 'manager');
    await page.evaluate(() => window.manager.update(null));
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
    expect(collect.body.consent).toBeUndefined();
  });

  it('with the GPP is awaited, and an opt-out of sale is heard', async () => {
    await page.goto(`${shop.page('/gpp', '', { before: GPP_STUB + IMPORTS })}?gclid=G1`);
    await shop.waitForIdle(page);
    expect(shop.posts).toEqual([]);
    await load(GPP, 'saleOptOut');
    await page.evaluate(() => window.saleOptOut(2));
    const [collect] = (await shop.waitForPosts('collect')) as [Post];
    expect(collect.body).toMatchObject({ clicks: { gclid: { id: 'G1' } }, consent: GRANTED });
    await page.evaluate(() => window.saleOptOut(1));
    const [withdrawal] = (await shop.waitForPosts('consent')) as [Post];
    expect(withdrawal.body).toMatchObject({ visitor: collect.body.visitor, consent: DENIED });
    expect(await storedText()).not.toMatch('G1');
  });
});

describe.each([
  {
    name: 'TCF',
    stub: TCF_STUB + IMPORTS,
    start: () => load(TCF, 'manager'),
    ask: () => tell([1, 2, 3, 4, 7], true),
    answer: (consents: boolean) => tell(consents ? [1, 2, 3, 4, 7] : [], false),
  },
  {
    name: 'GPP',
    stub: GPP_STUB + IMPORTS,
    start: () => load(GPP, 'showBanner'),
    ask: () => page.evaluate(() => window.showBanner()),
    answer: (consents: boolean) => page.evaluate((value) => window.saleOptOut(value), consents ? 2 : 1),
  },
])('a banner with the $name that a visitor has not answered', ({ name, stub, start, ask, answer }) => {
  const open = async () => {
    await page.goto(`${shop.page(`/${name}`, '', { before: stub })}?gclid=G1`);
    await start();
  };
  const statement = expect.any(String);

  it('is reported as undecided with an email, and nothing else is sent or stored', async () => {
    await open();
    await ask();
    await identifyEmail();
    const [report] = (await shop.waitForPosts('consent')) as [Post];
    expect(report.body).toEqual({ v: 1, hash: HASH, consent: { ...DENIED, undecided: true } });
    await shop.waitForIdle(page);
    expect(shop.posts).toHaveLength(1);
    expect(await storedText()).toBe('{}');
  });

  it('is reported with an email that was given before it was shown, and granted when the visitor grants it', async () => {
    await open();
    await identifyEmail();
    await shop.waitForIdle(page);
    expect(shop.posts).toEqual([]);
    await ask();
    await shop.waitForPosts('consent');
    await answer(true);
    const [identify] = (await shop.waitForPosts('identify')) as [Post];
    expect(identify.body).toMatchObject({ hash: HASH, consent: GRANTED, statement, clicks: { gclid: { id: 'G1' } } });
  });

  it('is denied when the visitor denies it, as a decision that can be taken back', async () => {
    await open();
    await ask();
    await identifyEmail();
    await shop.waitForPosts('consent');
    await answer(false);
    const [, denial] = (await shop.waitForPosts('consent', 2)) as [Post, Post];
    expect(denial.body).toEqual({ v: 1, hash: HASH, consent: DENIED, statement });
  });

  it('does not replace what the visitor has granted on another page', async () => {
    await open();
    await answer(true);
    await shop.waitForPosts('collect');
    await open();
    await ask();
    await identifyEmail();
    const [identify] = (await shop.waitForPosts('identify')) as [Post];
    expect(identify.body).toMatchObject({ hash: HASH, consent: GRANTED });
    await shop.waitForIdle(page);
    expect(shop.posts.filter(({ endpoint }) => endpoint === 'consent')).toEqual([]);
  });
});
