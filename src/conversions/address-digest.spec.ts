import { addressWarning, storedForms, storedItems, storedText } from './address-digest.js';

const SECRET = 'ab'.repeat(32);

describe('storedText', () => {
  it.each([
    'jane@example.com',
    'ORD-1001 jane.doe+shop@mail.example.com',
    'lead:JANE@EXAMPLE.COM:7',
    'jane%40example.com',
    'jane%2540example.com',
    'jörg@müller.example',
    'order/<jane@example.co.uk>',
  ])('replaces %s by a digest that fits an event name', (text) => {
    expect(storedText(SECRET, text)).toMatch(/^hmac_[0-9a-f]{32}$/);
    expect(storedText(SECRET, text)).toBe(storedText(SECRET, text));
  });

  it.each(['ORD-1001', 'purchase', '@home', 'twitter @shop', 'a@b', 'ORD@1001', '100%40', 'x@ y.z', ''])(
    'keeps %s, which is no address',
    (text) => {
      expect(storedText(SECRET, text)).toBe(text);
    },
  );

  it('depends on the site’s secret and on every character', () => {
    const digests = ['jane@example.com', 'Jane@example.com', 'jane@example.com '].map((text) =>
      storedText(SECRET, text),
    );
    expect(new Set([...digests, storedText('cd'.repeat(32), 'jane@example.com')]).size).toBe(4);
  });
});

describe('storedItems', () => {
  it('replaces texts that contain an email address, and no others', () => {
    const items = [{ id: 'SKU-1', name: 'Gift card for jane@example.com', quantity: 1 }, { id: 'SKU-2' }];
    expect(storedItems(SECRET, items)).toEqual([
      { id: 'SKU-1', name: expect.stringMatching(/^hmac_[0-9a-f]{32}$/), quantity: 1 },
      { id: 'SKU-2' },
    ]);
    const plain = [{ id: 'SKU-1', category: 'Shoes' }];
    expect(storedItems(SECRET, plain)).toBe(plain);
  });
});

describe('storedForms', () => {
  it('includes the text of earlier versions', () => {
    expect(storedForms(SECRET, 'ORD-1')).toEqual(['ORD-1']);
    expect(storedForms(SECRET, 'jane@example.com')).toEqual([
      storedText(SECRET, 'jane@example.com'),
      'jane@example.com',
    ]);
    expect(storedForms(SECRET, ' ORD-u\u0308 ')).toEqual(['ORD-\u00fc', ' ORD-u\u0308 ']);
  });
});

describe('addressWarning', () => {
  it('names the fields that were replaced', () => {
    expect(addressWarning({ event: 'a', orderId: 'b' }, { event: 'a', orderId: 'b' })).toBeUndefined();
    expect(addressWarning({ event: 'a', orderId: 'b' }, { event: 'a', orderId: 'x' })).toMatch(
      /^orderId contains an email/,
    );
    expect(addressWarning({ event: 'a', orderId: 'b' }, { event: 'y', orderId: 'x' })).toMatch(
      /^event and orderId contain an email address/,
    );
  });
});
