import { DecimalSum } from './decimal-sum.js';

describe('the sum of decimals', () => {
  it.each([
    [[], null],
    [['0'], '0'],
    [['129.9', '0.1'], '130.0'],
    [['0.1', '0.2'], '0.3'],
    [['9007199254740993', '1'], '9007199254740994'],
    [['-5', '2.25'], '-2.75'],
    [['-0.5', '0.25'], '-0.25'],
    [['1e+21', '1'], '1000000000000000000001'],
    [['1.5e-7', '1'], '1.00000015'],
    [['2.5', '-2.5'], '0.0'],
  ])('of %j is %s', (decimals, expected) => {
    const sum = new DecimalSum();
    for (const decimal of decimals) sum.add(decimal);
    expect(sum.text).toBe(expected);
  });

  it('refuses what is no number', () => {
    expect(() => new DecimalSum().add('1,5')).toThrow('1,5 is not a number');
  });
});
