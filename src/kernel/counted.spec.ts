import { counted } from './counted.js';

describe('a number with its noun', () => {
  it.each([
    [0, '0 deliveries'],
    [1, '1 delivery'],
    [5, '5 deliveries'],
  ])('of %d is %s', (count, text) => {
    expect(counted(count, 'delivery', 'deliveries')).toBe(text);
    expect(counted(count, 'event')).toBe(`${count} event${count === 1 ? '' : 's'}`);
  });
});
