import * as fc from 'fast-check';
import * as service from '../../kernel/email.js';
import { hashOf, isEmail, normaliseEmail } from './email.js';

describe('an email in the browser', () => {
  it('is hashed as the service hashes it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.emailAddress(), fc.constantFrom('', ' ', '\t'), async (email, space) => {
        const written = space + email.replace(/[a-m]/g, (letter) => letter.toUpperCase()) + space;
        expect(await hashOf(normaliseEmail(written))).toBe(service.subjectOf(service.normaliseEmail(written)));
      }),
      { numRuns: 50 },
    );
    expect(await hashOf(normaliseEmail(' JÖ@Exämple.de'))).toBe(service.subjectOf('jö@exämple.de'));
  });

  it('is one to the service too, whatever was typed', () => {
    for (const email of ['jo@shop.example', 'a+b@c.d', 'jö@exämple.de']) expect(isEmail(email)).toBe(true);
    for (const text of [
      '',
      'jo',
      'jo@shop',
      '@a.b',
      'a b@c.d',
      'a@b@c.d',
      `${'x'.repeat(65)}@a.b`,
      `a@${'x'.repeat(260)}.b`,
    ])
      expect(isEmail(text)).toBe(false);
    const typed = fc.oneof(
      fc.emailAddress(),
      fc.string(),
      fc.tuple(fc.string(), fc.string()).map((pair) => pair.join('@a.')),
    );
    return fc.assert(
      fc.property(typed, (text) => {
        const email = normaliseEmail(text);
        if (isEmail(email)) expect(service.isEmail(email)).toBe(true);
      }),
    );
  });
});
