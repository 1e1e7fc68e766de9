import * as fc from 'fast-check';
import * as service from '../../kernel/email.js';
import { hashEmail, isEmail, normaliseEmail } from './email.js';

describe('email addresses in the browser', () => {
  it('have the same hash as in the service', async () => {
    await fc.assert(
      fc.asyncProperty(fc.emailAddress(), fc.constantFrom('', ' ', '\t'), async (email, space) => {
        const input = space + email.replace(/[a-m]/g, (letter) => letter.toUpperCase()) + space;
        expect(await hashEmail(normaliseEmail(input))).toBe(service.subjectOf(service.normaliseEmail(input)));
      }),
      { numRuns: 50 },
    );
    expect(await hashEmail(normaliseEmail(' JÖ@Exämple.de'))).toBe(service.subjectOf('jö@exämple.de'));
  });

  it('are accepted only if the service accepts them too', () => {
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
    const input = fc.oneof(
      fc.emailAddress(),
      fc.string(),
      fc.tuple(fc.string(), fc.string()).map((pair) => pair.join('@a.')),
    );
    return fc.assert(
      fc.property(input, (text) => {
        const email = normaliseEmail(text);
        if (isEmail(email)) expect(service.isEmail(email)).toBe(true);
      }),
    );
  });
});
