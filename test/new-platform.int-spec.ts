import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from './support/folders.js';

const run = promisify(execFile);
const checkout = join(import.meta.dirname, '..');

const MANIFEST = `import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'fake',
  label: 'Fake Ads',
  sufficient: ['email'],
  clickIds: { fakeclid: { number: 34, days: 7, cookie: true } },
  sentClickIds: ['fakeclid'],
  cookies: { _fake: { number: 35, sample: 'sample-fake' } },
} as const satisfies Manifest;
`;

const PLATFORM = `import { codeGrant, refreshSettings } from '../authorization.js';
import { endpointUrl, type Platform } from '../platform.js';
import { manifest } from './manifest.js';

const BASE = 'https://api.fake.example';

export const platform: Platform = {
  ...manifest,
  fields: [{ name: 'account', required: true, help: 'The account.' }],
  demo: { account: 'demo-account' },
  account: ['account'],
  batchMax: 1,
  baseUrl: () => BASE,
  payload: ({ eventId, visit }) => ({
    item: { id: eventId, click: visit?.clicks.fakeclid?.id, cookie: visit?.cookies._fake },
  }),
  request: ([body = ''], { connection }) => {
    return { method: 'POST', url: endpointUrl(connection, BASE, '/events'), headers: {}, body };
  },
  verdict: ({ status }) => (status === 200 ? { kind: 'delivered' } : { kind: 'rejected', reason: 'refused' }),
  authorization: codeGrant({
    consent: { base: BASE, path: '/consent' },
    token: { base: BASE, path: '/token' },
    scope: 'conversions',
    settings: refreshSettings,
  }),
};
`;

const DOUBLE = `import { jsonAnswer } from '../answers.js';
import type { PlatformDouble } from '../double.js';
import type { SignIn } from '../sign-ins.js';

export const double: PlatformDouble = {
  name: 'fake',
  answer: () => jsonAnswer(200, { taken: true }),
  fail: () => jsonAnswer(500, {}),
};

export const signIn: SignIn = { consentPath: '/consent', consent: { required: { response_type: 'code' } } };
`;

/** Runs in the copy of the sources, and prints what each part of the product makes of the platforms. */
const FACTS = `import { sandboxConnection } from './src/app/demo-sandbox.js';
import { clickIdsSchema, readClickIds } from './src/conversions/inbound/fields/click-ids.js';
import { IMPORT_FIELDS } from './src/conversions/import/columns.js';
import { connectionTitle } from './src/dashboard/browser/format.js';
import { sourceRows } from './src/dashboard/browser/views/overview-view.js';
import { sampleReceived } from './src/delivery/payload/sample-conversion.js';
import { EVENT_SCHEMAS } from './src/events/index.js';
import { jsonSchemaOf } from './src/events/json-schema.js';
import { readSettings } from './src/kernel/settings/settings.js';
import { settingsDocument } from './src/kernel/settings/settings-document.js';
import { platformOf, PLATFORMS, SIGN_IN_PLATFORMS } from './src/platforms/index.js';
import { clickLifetimeMs } from './src/platforms/click-ids.js';
import { Sandbox } from './src/sandbox/sandbox.js';
import { listedConnections } from './src/sites/connections/connection-document.js';
import { carriedOf, countCarried, noCounts } from './src/statistics/identifier-counts.js';
import { usedIdentifiers } from './src/statistics/used-identifiers.js';
import { tagScript } from './src/tag/tag-script.js';
import { readTagMessage } from './src/visitors/tag/tag-message.js';

const readOf = (sent) => {
  const fields = {};
  readClickIds(sent, fields, { isStrict: true });
  return fields.clickIds;
};
const schemas = JSON.stringify(Object.keys(EVENT_SCHEMAS).map(jsonSchemaOf));
const fake = platformOf('fake:second');
const group = { conversions: 0, values: [] };
const counts = noCounts();
countCarried(counts, { identifiers: ['fakeclid', '_fake'], matched: true }, 3);
const app = { FAKE_OAUTH_CLIENT_ID: 'app', FAKE_OAUTH_CLIENT_SECRET: 'secret' };
const sandbox = await new Sandbox().start();
const answers = await Promise.all([
  fetch(sandbox.url + '/fake/events', { method: 'POST', body: '{}' }).then((answer) => answer.json()),
  fetch(sandbox.url + '/fake/consent').then(({ status }) => status),
]);
await sandbox.stop();
console.log(JSON.stringify({
  platforms: PLATFORMS.map(({ name }) => name),
  listed: listedConnections({ host: 'shop.example', connections: [] }).at(-2),
  events: /"x","fake","webhook"\\]/.test(schemas) && !/"x","webhook"\\]/.test(schemas),
  settings: settingsDocument(SIGN_IN_PLATFORMS).match(/FAKE_OAUTH_\\w+/g),
  app: readSettings(app, SIGN_IN_PLATFORMS).oauthApps,
  demo: sandboxConnection(fake, 'http://sandbox'),
  answers,
  title: connectionTitle('fake:second'),
  source: sourceRows({
    items: [{ source: null, medium: null, campaign: null, click: 'fakeclid', conversions: 1, values: [] }],
    other: group, notMatched: group, unknown: 0,
  }, 'click')[0].title,
  tag: tagScript({ required: false, capture: true, days: 90 }).body.match(/"(clicks|cookies|clickCookies)":"[^"]*\\b_?fake(clid)?\\b/g).length,
  message: readTagMessage({ v: 1, clicks: { fakeclid: { id: 'F' } }, cookies: { _fake: 'C' } }, 0),
  days: clickLifetimeMs('fakeclid', Number.POSITIVE_INFINITY) / 86_400_000,
  schema: 'fakeclid' in clickIdsSchema.properties,
  sent: readOf({ fakeclid: 'F' }),
  imported: IMPORT_FIELDS.includes('clickIds.fakeclid'),
  sample: sampleReceived(0).personal.visit.clicks.fakeclid.id,
  used: usedIdentifiers(fake, {}),
  counted: usedIdentifiers(fake, {}).map((used) => carriedOf(counts, used)),
}));
`;

let copy: string;

beforeAll(() => {
  copy = temporaryFolder('cc-new-platform-');
  cpSync(join(checkout, 'src'), join(copy, 'src'), {
    recursive: true,
    filter: (path) => !path.endsWith('.spec.ts') && !path.endsWith('/fixtures'),
  });
  for (const file of ['package.json', 'tsconfig.json']) cpSync(join(checkout, file), join(copy, file));
  for (const folder of ['node_modules', 'dist']) symlinkSync(join(checkout, folder), join(copy, folder));
  // The steps of CONTRIBUTING.md.
  mkdirSync(join(copy, 'src/platforms/fake'));
  writeFileSync(join(copy, 'src/platforms/fake/manifest.ts'), MANIFEST);
  writeFileSync(join(copy, 'src/platforms/fake/index.ts'), PLATFORM);
  writeFileSync(join(copy, 'src/sandbox/doubles/fake.ts'), DOUBLE);
  const list = join(copy, 'src/platforms/manifests.ts');
  const text = readFileSync(list, 'utf8').replace('  webhook,\n', '  fake,\n  webhook,\n');
  writeFileSync(list, `import { manifest as fake } from './fake/manifest.js';\n${text}`);
});

describe('a platform that is added by the steps of CONTRIBUTING.md', () => {
  it('leaves nothing that the compiler misses', async () => {
    const compiler = join(checkout, 'node_modules/typescript-native/bin/tsc');
    const { stdout } = await run(process.execPath, [compiler, '-p', copy, '--noEmit']);
    expect(stdout).toBe('');
  });

  it('is in every part of the product that depends on the platforms', async () => {
    writeFileSync(join(copy, 'facts.ts'), FACTS);
    const loader = join(checkout, 'test/runner/typescript.mjs');
    const { stdout } = await run(process.execPath, ['--import', loader, 'facts.ts'], { cwd: copy });
    const facts = JSON.parse(stdout);
    expect(facts.platforms.slice(-3)).toEqual(['x', 'fake', 'webhook']);
    expect(facts).toMatchObject({
      listed: { platform: 'fake', connected: false, fields: [{ name: 'account', secret: false, required: true }] },
      events: true,
      settings: ['FAKE_OAUTH_CLIENT_ID', 'FAKE_OAUTH_CLIENT_SECRET'],
      app: { fake: { clientId: 'app', clientSecret: 'secret' } },
      demo: { set: { account: 'demo-account' }, endpoint: 'http://sandbox/fake' },
      answers: [{ taken: true }, 400],
      title: 'Fake Ads · second',
      source: 'Fake Ads (fakeclid)',
      tag: 3,
      message: { clicks: { fakeclid: { id: 'F' } }, cookies: { _fake: 'C' } },
      days: 7,
      schema: true,
      sent: { fakeclid: 'F' },
      imported: true,
      sample: 'sample-fakeclid',
      used: [
        { identifier: 'click_id', anyOf: ['fakeclid'] },
        { identifier: 'cookie', anyOf: ['_fake'] },
      ],
      counted: [3, 3],
    });
  });
});
