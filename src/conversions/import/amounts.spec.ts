import fc from 'fast-check';
import { readAmount } from './amounts.js';

describe('an amount of a file', () => {
  it.each([
    ['0', 0],
    ['129', 129],
    ['129.9', 129.9],
    ['129,90', 129.9],
    ['0.125', 0.125],
    ['0,125', 0.125],
    ['1234.567', 1234.567],
    ['1.234,50', 1234.5],
    ['1,234.50', 1234.5],
    ['1.234.567', 1234567],
    ['1,234,567', 1234567],
    ['1 234,50', 1234.5],
    ['1\u202f234,50', 1234.5],
    ["1'234.50", 1234.5],
  ])('%j is %d', (text, amount) => {
    expect(readAmount(text)).toBe(amount);
  });

  it.each(['1.234', '12,345', '999.000'])('%j is ambiguous', (text) => {
    expect(readAmount(text)).toEqual({ error: expect.stringContaining('--decimal') });
  });

  it('is read by the stated decimal mark', () => {
    expect(readAmount('1.234', 'point')).toBe(1.234);
    expect(readAmount('1.234', 'comma')).toBe(1234);
    expect(readAmount('12,345', 'comma')).toBe(12.345);
    expect(readAmount('12,345', 'point')).toBe(12345);
    expect(readAmount('1,5', 'point')).toEqual({ error: expect.any(String) });
  });

  it.each([
    '',
    '-1',
    '1e3',
    '12 EUR',
    '€ 5',
    '1..2',
    '1,2,3',
    '12.34.567',
    '1.',
    '.5',
    'NaN',
    '1,234.567,8',
    '1.2345.678',
  ])('%j is invalid', (text) => {
    expect(readAmount(text)).toEqual({ error: 'value must be a non-negative number' });
  });

  it('reads every amount with two decimals in each of four notations', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1e9 }),
        fc.constantFrom(['', '.'], ['', ','], [',', '.'], ['.', ',']),
        (cents, marks) => {
          const [group = '', point = ''] = marks;
          const whole = String(Math.floor(cents / 100)).replace(/\B(?=(\d{3})+$)/g, group);
          const text = `${whole}${point}${String(cents % 100).padStart(2, '0')}`;
          expect(readAmount(text)).toBe(cents / 100);
        },
      ),
      { seed: 16 },
    );
  });
});
