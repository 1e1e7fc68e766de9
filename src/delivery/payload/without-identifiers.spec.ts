import { PLATFORM_CASES } from '../../../test/support/platform-cases.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import { OPTIONAL_IDENTIFIERS } from '../../platforms/optional-identifiers.js';
import { withoutIdentifiers } from './without-identifiers.js';

const FULL = SAMPLE_CONVERSIONS['with-details'];

describe('a conversion without an identifier', () => {
  it.each(OPTIONAL_IDENTIFIERS)('has everything else: %s', (identifier) => {
    const { visit, hashes, ...rest } = withoutIdentifiers(FULL, [identifier]);
    const emptied = { email: [], phone: [], address: ['address'], externalId: ['externalId'] };
    const gone = identifier in emptied ? emptied[identifier as keyof typeof emptied] : [];
    const { visit: _, hashes: __, ...before } = FULL;
    expect(rest).toEqual({ ...before, ...Object.fromEntries(gone.map((name) => [name, undefined])) });
    const hasPhone = identifier !== 'phone';
    expect([hashes.subject !== '', hashes.phone !== undefined, hashes.phoneDigits !== undefined]).toEqual([
      ...[identifier !== 'email', hasPhone, hasPhone],
    ]);
    expect([visit?.ip !== undefined, visit?.userAgent !== undefined]).toEqual(
      identifier === 'device' ? [false, false] : [true, true],
    );
    expect(Object.keys(visit?.clicks ?? {}).length > 0).toBe(identifier !== 'click');
    expect(Object.keys(visit?.cookies ?? {}).length > 0).toBe(identifier !== 'cookie');
  });

  it.each(PLATFORM_CASES)('has no trace of them at $name', ({ platform, connection }) => {
    const payload = platform.payload(withoutIdentifiers(FULL, ['email', 'phone']), connection.settings);
    const { subject, phone, phoneDigits, emailBare, emailGoogle } = FULL.hashes;
    const sent = JSON.stringify(payload);
    for (const digest of [subject, phone, phoneDigits, emailBare, emailGoogle])
      if (digest) expect(sent).not.toContain(digest);
  });

  it('has no part of the address that the sender hashed, either', () => {
    const parts = { city: 'a'.repeat(64), region: 'b'.repeat(64), postalCode: 'c'.repeat(64), country: 'd'.repeat(64) };
    const { hashes } = withoutIdentifiers({ ...FULL, hashes: { ...FULL.hashes, ...parts } }, ['address']);
    expect(hashes).toEqual(FULL.hashes);
  });

  it('is the same again without them', () => {
    const once = withoutIdentifiers(FULL, ['email', 'address']);
    expect(withoutIdentifiers(once, ['email', 'address'])).toEqual(once);
    const without = withoutIdentifiers({ ...FULL, visit: undefined }, ['click', 'cookie', 'device']);
    expect(without).toEqual({ ...FULL, visit: undefined });
  });
});
