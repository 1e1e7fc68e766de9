import { derivedUuid } from '../../kernel/uuid.js';
import { IdSet } from './id-set.js';

describe('a set of ids', () => {
  it('has what was added, also after it has grown', () => {
    const set = new IdSet();
    const ids = Array.from({ length: 100_000 }, (_, at) => derivedUuid(String(at)));
    for (const id of ids) set.add(id);
    expect(ids.every((id) => set.has(id))).toBe(true);
    expect(Array.from({ length: 1_000 }, (_, at) => derivedUuid(`other ${at}`)).some((id) => set.has(id))).toBe(false);
    expect(set.isFull).toBe(false);
  });
});
