import { identityDigest, identityOf } from './external-identity.js';

const CLAIMS = { iss: 'https://id.example', sub: '42', email: 'ada@shop.example', email_verified: true, name: ' Ada ' };

describe('identity from a sign-in provider', () => {
  it('has an email address only if the provider verified it', () => {
    expect(identityOf(CLAIMS, undefined)).toEqual({
      issuer: 'https://id.example',
      subject: '42',
      email: 'ada@shop.example',
      name: 'Ada',
      role: undefined,
    });
    for (const email_verified of [false, undefined, 'true'])
      expect(identityOf({ ...CLAIMS, email_verified }, undefined).email).toBeUndefined();
  });

  it.each([
    ['analyst', 'analyst'],
    [['analyst', 'operator', 'other'], 'operator'],
    [['admin', 'analyst'], 'admin'],
    ['Admin', null],
    [undefined, null],
    [[], null],
  ])('reads the role from a claim %j', (roles, expected) => {
    expect(identityOf({ ...CLAIMS, roles }, 'roles').role).toBe(expected);
  });

  it('is told apart by issuer and subject', () => {
    const digests = [
      { issuer: 'https://id.example', subject: '42' },
      { issuer: 'https://id.example', subject: '43' },
      { issuer: 'https://other.example', subject: '42' },
    ].map((identity) => identityDigest(identity).toString('hex'));
    expect(new Set(digests).size).toBe(3);
  });
});
