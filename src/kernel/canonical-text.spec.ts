import { canonicalText } from './canonical-text.js';

describe('canonicalText', () => {
  it.each([
    ['ORD-1', 'ORD-1'],
    [' ORD-1\t\n', 'ORD-1'],
    ['\u00a0ORD 1\ufeff', 'ORD 1'],
    ['Bestellung-fu\u0308r', 'Bestellung-f\u00fcr'],
    ['\u212b', '\u00c5'],
  ])('of %j is %j', (text, canonical) => {
    expect(canonicalText(text)).toBe(canonical);
    expect(canonicalText(canonical)).toBe(canonical);
  });

  it('keeps case, and letters that only look alike', () => {
    for (const text of ['Ord-1', 'ord-1', 'ｏrd', '①']) expect(canonicalText(text)).toBe(text);
  });
});
