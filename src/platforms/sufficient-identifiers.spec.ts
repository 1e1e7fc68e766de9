import { readFileSync } from 'node:fs';
import { PLATFORM_CASES } from '../../test/support/platform-cases.js';
import { SAMPLE_CONVERSIONS } from '../../test/support/sample-conversions.js';
import { CLICK_KINDS } from './click-ids.js';
import type { Conversion } from './conversion.js';
import type { PersonIdentifier } from './manifest.js';

const DIGEST = 'ab'.repeat(32);
/** Microsoft’s ids have 32 hexadecimal digits; the others take any text. */
const CLICK = { id: 'a1b2c3d4e5f60718293a4b5c6d7e8f90', timeMs: SAMPLE_CONVERSIONS['without-click-id'].timeMs };
const CLICKS = Object.fromEntries(CLICK_KINDS.map((kind) => [kind, CLICK]));

const ALONE: Readonly<Record<PersonIdentifier, Partial<Conversion>>> = {
  email: { hashes: { subject: DIGEST } },
  phone: { hashes: { phone: DIGEST, phoneDigits: DIGEST } },
  external_id: { hashes: {}, externalId: 'C-1' },
  click_id: { hashes: {}, visit: { clicks: CLICKS, cookies: {}, utm: {} } },
};
const TITLES = { email: 'an email', phone: 'a phone', external_id: 'an external id', click_id: 'a click id' } as const;

const cases = PLATFORM_CASES.filter(
  ({ name, platform }) => name === platform.name && platform.definition === undefined,
);

describe.each(cases.map((each) => [each.name, each] as const))('%s', (_, { platform, connection }) => {
  const built = (alone: Partial<Conversion>) => {
    const { visit: _, externalId: __, address: ___, ...anonymous } = SAMPLE_CONVERSIONS['without-click-id'];
    const { synthetic_client_id: ____, ...settings } = connection.settings;
    return platform.payload({ ...anonymous, ...alone }, settings);
  };

  it.each(Object.keys(ALONE) as PersonIdentifier[])(
    'says whether %s is enough to recognise a person by',
    (identifier) => {
      expect(!('skip' in built(ALONE[identifier]))).toBe(platform.sufficient.includes(identifier));
    },
  );

  it('skips a conversion of which it can use nothing', () => {
    if (platform.name !== 'webhook')
      expect(built({ hashes: {} })).toEqual({ skip: expect.stringMatching(/identifier$/) });
  });
});

describe('the page about integration', () => {
  const page = readFileSync('docs/integrate/README.md', 'utf8');

  it.each(['phone', 'external_id'] as const)('lists the platforms that need nothing but %s', (identifier) => {
    const row = page.split('\n').find((line) => line.startsWith(`| ${TITLES[identifier]} | `));
    const named = cases.filter(({ platform }) => platform.sufficient.includes(identifier));
    const listed = row
      ?.split('|')[2]
      ?.split(';')[0]
      ?.split(',')
      .map((label) => label.trim());
    expect(listed?.sort()).toEqual(
      named.map(({ platform }) => (platform.name === 'webhook' ? 'webhook' : platform.label)).sort(),
    );
  });
});
