import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { subjectOf } from '../kernel/email.js';
import { digestOf, type PersonalHashes } from '../platforms/personal-hashes.js';
import { hashPersonal } from './hash-personal.js';

const library: typeof import('libphonenumber-js/min') = createRequire(import.meta.url)('libphonenumber-js/min');

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const person = (fields: object) => ({ email: 'a@example.com', event: 'lead', currency: 'USD', ...fields });
const ofEmail = (email: string) => hashPersonal(person({ email }));
const ofName = (firstName: string) => hashPersonal(person({ firstName }));
const phoneOf = (phone: string, country?: string) => hashPersonal(person({ phone }), country).phone;

describe('hashPersonal', () => {
  describe('given an email', () => {
    it('stores one hash when all platforms use the same form', () => {
      expect(ofEmail('person@example.com')).toStrictEqual({ subject: sha256('person@example.com') });
      expect(ofEmail('person@gmail.com')).toStrictEqual({ subject: sha256('person@gmail.com') });
    });

    it.each([
      // email, subject, Google, Microsoft and Reddit
      ['jane.doe@example.com', 'jane.doe@example.com', 'jane.doe@example.com', 'janedoe@example.com'],
      ['john.doe+news@gmail.com', 'john.doe+news@gmail.com', 'johndoe@gmail.com', 'johndoe@gmail.com'],
      ['a.b.c@googlemail.com', 'a.b.c@googlemail.com', 'abc@googlemail.com', 'abc@googlemail.com'],
      ['user.name+nyc@example.com', 'user.name+nyc@example.com', 'user.name+nyc@example.com', 'username@example.com'],
      ['a.b@notgmail.com', 'a.b@notgmail.com', 'a.b@notgmail.com', 'ab@notgmail.com'],
      ['ab@example.com.', 'ab@example.com.', 'ab@example.com.', 'ab@example.com'],
      ['zoë.ö@münchen.example', 'zoë.ö@münchen.example', 'zoë.ö@münchen.example', 'zoëö@münchen.example'],
    ])('stores the form of %s that each platform expects', (email, subject, google, bare) => {
      const hashes = ofEmail(email);
      expect(hashes.subject).toBe(sha256(subject));
      expect(digestOf(hashes, 'emailGoogle')).toBe(sha256(google));
      expect(digestOf(hashes, 'emailBare')).toBe(sha256(bare));
    });

    it.each(['+x@gmail.com', '.@gmail.com', '..+x@googlemail.com'])('has no hash for Google for %s', (email) => {
      const hashes = ofEmail(email);
      expect(hashes).toStrictEqual({ subject: sha256(email), emailGoogle: null, emailBare: null });
      expect(digestOf(hashes, 'emailGoogle')).toBeUndefined();
    });

    it('has no hash for Microsoft and Reddit when only a + suffix precedes the @', () => {
      const hashes = ofEmail('+x@example.com');
      expect(digestOf(hashes, 'emailBare')).toBeUndefined();
      expect(digestOf(hashes, 'emailGoogle')).toBe(sha256('+x@example.com'));
    });
  });

  it('takes what the sender hashed, where there is no plain value', () => {
    const hashed = { phone: 'p', firstName: 'f', lastName: 'l', city: 'c', country: 'd' };
    const address = { city: 'Berlin' };
    expect(hashPersonal(person({ hashed, address, lastName: 'Doe' }))).toEqual({
      subject: sha256('a@example.com'),
      phone: 'p',
      phoneDigits: 'p',
      firstName: 'f',
      lastName: sha256('doe'),
      country: 'd',
    });
    expect(phoneOf('+15550104477')).toBe(hashPersonal(person({ hashed, phone: '+15550104477' })).phone);
  });

  describe('given a hashed email', () => {
    it('uses the hash as subject and for every platform', () => {
      const subject = sha256('jane.doe@example.com');
      const hashes = hashPersonal({ hashedEmail: subject, event: 'lead', currency: 'USD', firstName: 'Jane' });
      expect(hashes).toStrictEqual({ subject, firstName: sha256('jane') });
      expect(digestOf(hashes, 'emailGoogle')).toBe(subject);
      expect(digestOf(hashes, 'emailBare')).toBe(subject);
    });
  });

  describe('given a name', () => {
    const formsOf = (firstName: string) => {
      const hashes = ofName(firstName);
      return (['firstName', 'firstNameBare', 'firstNameJoined', 'firstNameUnpunctuated'] as const).map((name) =>
        digestOf(hashes, name),
      );
    };

    it('stores one hash when all platforms use the same form', () => {
      expect(hashPersonal(person({ firstName: ' Raphaël ', lastName: 'Łukasz' }))).toStrictEqual({
        subject: sha256('a@example.com'),
        firstName: sha256('raphaël'),
        lastName: sha256('łukasz'),
      });
    });

    it.each([
      // name, Google and Pinterest, Meta, TikTok, Snapchat
      ['John', 'john', 'john', 'john', 'john'],
      ['Mary Jane', 'mary jane', 'maryjane', 'maryjane', 'mary jane'],
      ['Mary-Jane', 'mary-jane', 'maryjane', 'mary-jane', 'maryjane'],
      [
        'Anne  Marie O’Neil-Díaz',
        'anne  marie o’neil-díaz',
        'annemarieo’neildíaz',
        'annemarieo’neil-díaz',
        'anne  marie o’neildíaz',
      ],
      ['J. R.', 'j. r.', 'jr', 'j.r.', 'j r'],
      ['- John', '- john', 'john', '-john', 'john'],
      ['李\u3000明', '李\u3000明', '李明', '李明', '李\u3000明'],
    ])('stores the form of %s that each platform expects', (name, plain, bare, joined, unpunctuated) => {
      expect(formsOf(name)).toEqual([plain, bare, joined, unpunctuated].map(sha256));
    });

    it('stores a form only if it differs from the plain one', () => {
      expect(Object.keys(ofName('Mary Jane'))).toEqual(['subject', 'firstName', 'firstNameBare', 'firstNameJoined']);
      expect(Object.keys(ofName('Mary-Jane'))).toEqual([
        'subject',
        'firstName',
        'firstNameBare',
        'firstNameUnpunctuated',
      ]);
    });

    it.each([' ', '\u00a0', '---', '. .', "'"])('omits %j', (name) => {
      expect(hashPersonal(person({ firstName: name, lastName: name }))).toStrictEqual({
        subject: sha256('a@example.com'),
      });
    });
  });

  describe('given a phone', () => {
    it('hashes the number with and without the plus', () => {
      expect(hashPersonal(person({ phone: '+1 (555) 010-4477' }))).toStrictEqual({
        subject: sha256('a@example.com'),
        phone: sha256('+15550104477'),
        phoneDigits: sha256('15550104477'),
      });
    });

    it.each([
      ['+15550104477', '+15550104477'],
      ['+44 20 7946 0958', '+442079460958'],
      ['+44.20/7946–0958', '+442079460958'],
      ['+44\u00a020\u202f7946\u20110958', '+442079460958'],
      ['\u202a+44 20 7946 0958\u202c', '+442079460958'],
      ['＋４４ ２０ ７９４６ ０９５８', '+442079460958'],
      ['+٤٤٢٠٧٩٤٦٠٩٥٨', '+442079460958'],
      ['0044 20 7946 0958', '+442079460958'],
      ['(00) 44 20 7946 0958', '+442079460958'],
      ['+0044 20 7946 0958', '+442079460958'],
      ['+44 (0)20 7946 0958', '+442079460958'],
      ['+44 020 7946 0958', '+442079460958'],
      ['+353 (0)1 234 5678', '+35312345678'],
      ['+39 06 698 12345', '+390669812345'],
      ['+39 (0)6 698 12345', '+390669812345'],
      ['+1 555 010 4477 ext. 12', '+15550104477'],
      ['+1 555 010 4477 x12', '+15550104477'],
      ['tel:+1-555-010-4477', '+15550104477'],
      ['+290 22158', '+29022158'],
      ['+683 4001', '+6834001'],
      // As the platforms' own libraries, which hash the digits.
      ['++44 20 7946 0958', '+442079460958'],
      ['+ +44 20 7946 0958', '+442079460958'],
      ['00+44 20 7946 0958', '+442079460958'],
      ['++00 44 20 7946 0958', '+442079460958'],
      ['(+)+44 20 7946 0958', '+442079460958'],
      ['+44+20 7946 0958', '+442079460958'],
      ['++1650 253 0000', '+16502530000'],
    ])('reads %s as %s', (phone, e164) => {
      expect(phoneOf(phone)).toBe(sha256(e164));
    });

    it.each([
      ['(555) 010-4477', 'US', '+15550104477'],
      ['020 7946 0958', 'GB', '+442079460958'],
      ['06 698 12345', 'IT', '+390669812345'],
      ['٠٢٠٧٩٤٦٠٩٥٨', 'GB', '+442079460958'],
      ['+44 20 7946 0958', 'DE', '+442079460958'],
      ['0044 20 7946 0958', 'DE', '+442079460958'],
      ['0044 20 7946 0958', 'US', '+442079460958'],
      ['0049 (0)30 123456', 'US', '+4930123456'],
      ['011 44 20 7946 0958', 'US', '+442079460958'],
      ['0011 44 20 7946 0958', 'AU', '+442079460958'],
    ])('reads %s in %s as %s', (phone, country, e164) => {
      expect(phoneOf(phone, country)).toBe(sha256(e164));
    });

    it.each([
      ['020 7946 0958', undefined],
      ['15550104477', undefined],
      ['020 7946 0958', 'XX'],
      ['123', 'DE'],
      ['+123', 'DE'],
      ['+', 'DE'],
      ['00', 'DE'],
      ['++', 'DE'],
      ['00++00', 'DE'],
      ['+1234567890123456', undefined],
      ['anonymous', 'US'],
      [' - ', 'US'],
    ])('omits %s in %s', (phone, country) => {
      expect(hashPersonal(person({ phone }), country)).toStrictEqual({ subject: sha256('a@example.com') });
    });

    it('agrees with libphonenumber on a 0 after any country code', () => {
      const { getCountries, getCountryCallingCode, parsePhoneNumberFromString } = library;
      for (const code of new Set(getCountries().map((country) => getCountryCallingCode(country)))) {
        for (const rest of ['1234567', '12345678', '123456789']) {
          const phone = `+${code} (0) ${rest}`;
          const parsed = parsePhoneNumberFromString(phone);
          expect([phone, phoneOf(phone)]).toEqual([phone, parsed?.isPossible() ? sha256(parsed.number) : undefined]);
        }
      }
    });
  });

  it('completes a national phone number with the customer’s country before the site’s', () => {
    const abroad = person({ phone: '020 7946 0958', address: { country: 'GB' } });
    expect(hashPersonal(abroad, 'DE').phone).toBe(sha256('+442079460958'));
  });

  it('matches the published test vectors', () => {
    const jane = hashPersonal(
      person({ email: 'jane.doe@example.com', phone: '+1 (555) 010-4477', firstName: 'Mary-Jane' }),
    );
    expect(jane.subject).toBe('86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d');
    expect(digestOf(jane, 'emailGoogle')).toBe(jane.subject);
    expect(jane.emailBare).toBe('c4d25e9c90ff23e9145397bc6fbd5385ca5fbe78211222ccbecd0b369ebb19a6');
    expect(jane.phone).toBe('a6d53e23afd8a0e58ed88a857dec0272f27fb99ff0803e6cb1031201d78cade5');
    expect(jane.phoneDigits).toBe('25534ffa4a703793a7e360a41490b33a320598feafaf9ceecd3d841d6c6981db');
    expect(jane.firstNameBare).toBe('f08f448a5e7a9dc3619bb7c129f6a7d5fc6af002cea17ad71dfdc1c68f4d4e0e');
    expect(ofName('Mary Jane').firstNameBare).toBe(jane.firstNameBare);

    const gmail = ofEmail('john.doe+news@gmail.com');
    expect(gmail.subject).toBe('0bce3ed0bcbcc8d9dab97b42bf2ffa075b5782c10f543f0be1d8d53803efab15');
    expect(gmail.emailGoogle).toBe('06a240d11cc201676da976f7b49341181fd180da37cbe40a77432c0a366c80c3');
    expect(gmail.emailBare).toBe(gmail.emailGoogle);

    const notGmail = ofEmail('john.doe+news@example.com');
    expect(digestOf(notGmail, 'emailGoogle')).toBe('2605d3cdb53ba35bbd640f40ff5f9561c046675b136c4899e45e8653835e04f2');
    expect(ofEmail('cloudy.sanfrancisco+shopping@gmail.com').emailGoogle).toBe(sha256('cloudysanfrancisco@gmail.com'));

    expect(ofName('John').firstName).toMatch(/^96d9632f.*607a$/);
    expect(ofName('Raphaël').firstName).toMatch(/^e74bb89e.*27b7$/);
    expect(subjectOf('person@example.com')).toMatch(/^542d2401.*3345$/);
    expect(subjectOf('alice@example.com')).toMatch(/^ff8d9819.*d976$/);
    expect(hashPersonal(person({ phone: '+44 844 412 4653' })).phoneDigits).toMatch(/^dc008fda.*6383$/);
    expect(phoneOf('+1 555 444 1234')).toMatch(/^e5b124c5.*994a$/);
    expect(phoneOf('+11234567890')).toMatch(/^1fa6b8d9.*4231$/);
  });

  it('contains only SHA-256 hashes for any input', () => {
    const text = fc.string({ unit: 'binary', maxLength: 64 });
    const phone = fc.string({ unit: fc.constantFrom(...'+0123456789 ()-.x٤') });
    const email = fc
      .tuple(fc.string({ minLength: 1 }), fc.constantFrom('gmail.com', 'example.com.'))
      .map((parts) => parts.join('@'));
    return fc.assert(
      fc.property(email, text, text, fc.oneof(phone, text), fc.constantFrom('US', 'DE', undefined), (...sent) => {
        const [email, firstName, lastName, phone, country] = sent;
        const hashes: PersonalHashes = hashPersonal(person({ email, firstName, lastName, phone }), country);
        for (const digest of Object.values(hashes)) expect(digest ?? '0'.repeat(64)).toMatch(/^[0-9a-f]{64}$/);
        expect(Object.values(hashes)).not.toContain(sha256(''));
      }),
      { numRuns: 500 },
    );
  });

  it('throws without an email and a hashed email', () => {
    expect(hashPersonal({ event: 'lead', currency: 'USD' })).toStrictEqual({});
  });
});
