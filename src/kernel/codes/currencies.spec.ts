import { CURRENCIES, readCurrency } from './currencies.js';

describe('currencies', () => {
  it('has 176 active codes and 6 withdrawn ones, each of three capital letters', () => {
    expect(CURRENCIES.size).toBe(182);
    for (const code of CURRENCIES) expect(code).toMatch(/^[A-Z]{3}$/);
  });

  it.each(['USD', 'EUR', 'JPY', 'KWD', 'CHF', 'XCG', 'ZWG', 'SLE', 'VES', 'XAU', 'XDR', 'CLF', 'HRK', 'BGN'])(
    'accepts %s',
    (code) => {
      expect(readCurrency(code)).toBe(code);
    },
  );

  it.each(['eur', 'Eur', 'eUR'])('reads %s as EUR', (text) => {
    expect(readCurrency(text)).toBe('EUR');
  });

  it.each(['', 'XXX', 'XTS', 'DEM', 'VEF', 'EURO', '€', '978', ' EUR', 'uſd', 'constructor'])(
    'rejects "%s"',
    (text) => {
      expect(readCurrency(text)).toBeUndefined();
    },
  );
});
