import { rowAfter } from './row-keys.js';

describe('the rows of a table by keyboard', () => {
  it('begin with the first one, whichever key is pressed', () => {
    expect(rowAfter(-1, 3, 1)).toBe(0);
    expect(rowAfter(-1, 3, -1)).toBe(0);
  });

  it('go on to the next and the previous one', () => {
    expect(rowAfter(0, 3, 1)).toBe(1);
    expect(rowAfter(2, 3, -1)).toBe(1);
  });

  it('end with the first and the last one', () => {
    expect(rowAfter(2, 3, 1)).toBe(2);
    expect(rowAfter(0, 3, -1)).toBe(0);
    expect(rowAfter(-1, 0, 1)).toBeUndefined();
  });
});
