import { DecimalSum } from './decimal-sum.js';

function partsOf(...values: number[]): string[] {
  const sum = new DecimalSum();
  for (const value of values) sum.add(value);
  return sum.parts();
}

describe('DecimalSum', () => {
  it('adds numbers with two places exactly', () => {
    expect(partsOf(0.1, 0.2, 12_345_678.9)).toEqual(['1234567920e-2']);
    expect(partsOf(0.29, -0.29)).toEqual(['0e-2']);
  });

  it('leaves others as they were written', () => {
    expect(partsOf(1, 1e-7, 0.125, 1e21)).toEqual(['100e-2', '1e-7', '0.125', '1e+21']);
  });
});
