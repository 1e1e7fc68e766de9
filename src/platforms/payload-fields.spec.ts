import { CURRENCIES } from '../kernel/codes/currencies.js';
import { amountText, withoutQuery } from './payload-fields.js';

describe('amountText', () => {
  it.each([
    [129.9, 'EUR', '129.90'],
    [0, 'EUR', '0.00'],
    [1000, 'JPY', '1000'],
    [1.5, 'KWD', '1.500'],
    [1234.5678, 'CLF', '1234.5678'],
    [0.1 + 0.2, 'USD', '0.30'],
    [1_000_000_000, 'USD', '1000000000.00'],
  ])('formats %p %s as %s', (value, currency, text) => {
    expect(amountText(value, currency)).toBe(text);
  });

  it.each(['HUF', 'IDR', 'COP', 'PKR', 'TWD'])(
    'keeps two decimals for %s, although they are rarely written',
    (currency) => {
      expect(amountText(1234.56, currency)).toBe('1234.56');
    },
  );

  it('formats every supported currency', () => {
    for (const currency of CURRENCIES) expect(amountText(5, currency)).toMatch(/^5(\.0{2,4})?$/);
  });
});

describe('withoutQuery', () => {
  it.each([
    ['https://shop.example/thanks', 'https://shop.example/thanks'],
    ['https://shop.example/?gclid=Abc&fbclid=Def', 'https://shop.example/'],
    ['https://shop.example/thanks#email=jane@example.com', 'https://shop.example/thanks'],
    ['https://shop.example/a#b?c', 'https://shop.example/a'],
    ['', undefined],
    [undefined, undefined],
  ])('shortens %s to %s', (url, expected) => {
    expect(withoutQuery(url)).toBe(expected);
  });
});
