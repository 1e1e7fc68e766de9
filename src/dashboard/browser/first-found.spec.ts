import { firstFound } from './first-found.js';

describe('a list whose newest items are far back', () => {
  const at = (found: number) => {
    let asked = 0;
    const load = async (cursor = 100) => {
      asked += 1;
      return cursor === found ? { items: [cursor] } : { items: [], ...(cursor > 0 && { next: cursor - 1 }) };
    };
    return firstFound(load).then(({ items }) => [items, asked]);
  };

  it('is read until something is found, up to a limit', async () => {
    expect(await at(100)).toEqual([[100], 1]);
    expect(await at(97)).toEqual([[97], 4]);
    expect(await at(0)).toEqual([[], 20]);
  });
});
