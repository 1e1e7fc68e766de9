import { eventually } from '../support/waiting.js';
import { problemsIn } from './axe.js';
import { type DashboardSite, testDashboard } from './dashboard-test.js';

const test = testDashboard();
let site: DashboardSite;
/** Ids of what the dialogs are about. */
let ids: Record<'key' | 'user' | 'token' | 'conversion' | 'channel', string>;

const DIALOGS = [
  ...[
    ...['keys?dialog=new', 'keys?dialog=refuse', 'keys?dialog=revoke&item=:key', 'keys?dialog=rotate&item=:key'],
    ...['integrations?connection=meta', 'integrations?dialog=add&item=segment'],
    ...['integrations?dialog=disconnect&item=segment', 'webhook?dialog=set', 'webhook?dialog=rotate'],
    ...['site?dialog=remove', 'site?dialog=pause', 'site?dialog=remove-host&item=www.shop.example'],
    ...['history?dialog=new', 'sync-log?dialog=retry', 'conversions/:conversion?dialog=curl'],
    ...[
      'sources?dialog=connect&item=stripe',
      'sources?dialog=rotate&item=shopify',
      'sources?dialog=rules&item=shopify',
    ],
    ...['sources?dialog=test&item=shopify', 'sources?dialog=disconnect&item=shopify'],
    ...['conversions/:conversion?send=segment', 'conversions/:conversion?dialog=request&item=segment'],
  ].map((path) => `/sites/:site/${path}`),
  ...[
    ...['users?dialog=new', 'users?dialog=change&item=:user', 'users?dialog=disable&item=:user'],
    ...['users?dialog=reset&item=:user', 'tokens?dialog=new', 'tokens?dialog=revoke&item=:token'],
    ...['oauth-apps?dialog=set&item=meta', 'oauth-apps?dialog=remove&item=reddit'],
    'alerts?dialog=new',
    'alerts?dialog=remove&item=:channel',
    'projections?dialog=rebuild&item=sites',
  ].map((path) => `/settings/${path}`),
  ...['/account?dialog=others', '/account?dialog=everywhere'],
];

beforeAll(async () => {
  site = await test.newDeliveringSite();
  const path = `/sites/${site.host}`;
  await test.succeed(`${path}/aliases`, 'PATCH', { add: ['www.shop.example'] });
  await test.succeed(`${path}/webhook`, 'PUT', { url: test.receiver.url });
  await test.succeed(`${path}/inbound-sources/shopify`, 'PUT', { secret: 'a-signing-secret' });
  await test.succeed('/oauth-apps/reddit', 'PUT', { clientId: 'own-app', clientSecret: 'own-app-secret' });
  const { body: keys } = await test.api(`${path}/keys`);
  const { id: token } = await test.succeed('/tokens', 'POST', { name: 'CRM', scopes: ['read'] });
  const { id: user } = await test.admin.addUser('analyst');
  const { id: channel } = await test.succeed('/alerts/channels', 'POST', { kind: 'webhook', to: test.receiver.url });
  const conversion = await test.sendListedConversion(site, 'ORD-0');
  ids = { key: keys.items[0].id, user, token, conversion, channel };
  // Another session of the administrator, which can be signed out.
  const { body: self } = await test.api('/session');
  await test.admin.openSession(self.id);
});

const addressOf = (template: string) =>
  template
    .replace(':site', site.host)
    .replace(/:(key|user|token|conversion|channel)\b/, (_, name: keyof typeof ids) => ids[name]);

it.each(DIALOGS)('the dashboard has no serious accessibility problem in the dialog %s', async (template) => {
  await test.open(addressOf(template));
  await test.dialog().waitFor();
  await test.loaded();
  expect(await problemsIn(test.page)).toEqual([]);
});

it('the dashboard has no serious accessibility problem in the question before an erasure or its proof', async () => {
  const { page } = test;
  await test.open(`/sites/${site.host}/erasures`);
  await page.getByLabel('Email').fill('jane@example.com');
  await test.click('Count what is stored');
  await test.click('Erase …');
  await test.dialog().waitFor();
  expect(await problemsIn(page)).toEqual([]);
  await test.dialog().getByRole('button', { name: 'Erase' }).click();
  await page.getByRole('region', { name: 'Proof' }).waitFor();
  await test.loaded();
  expect(await problemsIn(page)).toEqual([]);
});

it('the dashboard has no serious accessibility problem in the question before a replay', async () => {
  await test.behave(site, 'refuse');
  await test.sendConversion(site, 'ORD-1');
  await eventually(
    () => test.api(`/sites/${site.host}/sync-log?status=failed`),
    ({ body }) => body.items.length === 1,
  );
  await test.succeed(`/sites/${site.host}/jobs`, 'POST', { kind: 'replay', platform: 'segment', from: '0' });
  await test.open(`/sites/${site.host}/history`);
  await test.click('Send these');
  await test.dialog().waitFor();
  expect(await problemsIn(test.page)).toEqual([]);
});

it.each([
  ['/', 'Go to'],
  ['?', 'Keys'],
])('the dashboard has no serious accessibility problem in what the key %s opens', async (key, title) => {
  await test.open(`/sites/${site.host}/overview`);
  await test.loaded();
  await test.page.keyboard.press(key);
  await test.dialog().getByRole('heading', { name: title }).waitFor();
  expect(await problemsIn(test.page)).toEqual([]);
  if (key !== '/') return;
  // Without a result there is an empty list.
  await test.page.getByRole('combobox', { name: /^Order, conversion/ }).fill('sync log');
  await test.dialog().getByRole('option', { name: 'Sync log' }).first().waitFor();
  expect(await problemsIn(test.page)).toEqual([]);
});

it('the dashboard has no serious accessibility problem where a password is chosen, also after an error', async () => {
  await test.openSignedOut();
  const { page } = test;
  await test.open('/sign-in#unknown-link');
  await test.heading('Choose a password');
  expect(await problemsIn(page)).toEqual([]);
  await page.getByLabel('New password').fill('correct horse battery staple');
  await test.click('Choose and sign in');
  await page.getByRole('alert').waitFor();
  expect(await problemsIn(page)).toEqual([]);
  await test.open('/');
  await test.open('/sign-in#first_unknown');
  await test.heading('Create the first administrator');
  expect(await problemsIn(page)).toEqual([]);
});
