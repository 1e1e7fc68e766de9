import { countryOptions, currencyOptions } from './code-options.js';

describe('the countries to choose from', () => {
  it('have their names in the language of the viewer, and are in its order', () => {
    const english = countryOptions('en');
    expect(english.find(([code]) => code === 'DE')).toEqual(['DE', 'Germany (DE)']);
    expect(english[0]).toEqual(['AF', 'Afghanistan (AF)']);
    const german = countryOptions('de').map(([, title]) => title);
    expect(german).toContain('Deutschland (DE)');
    expect(german.indexOf('Österreich (AT)')).toBeLessThan(german.indexOf('Pakistan (PK)'));
    expect(german.length).toBe(english.length);
  });
});

describe('the currencies to choose from', () => {
  it('have their names in the language of the viewer', () => {
    expect(currencyOptions('en')).toContainEqual(['JPY', 'Japanese Yen (JPY)']);
    expect(currencyOptions('de')).toContainEqual(['USD', 'US-Dollar (USD)']);
  });
});
