import { NoPrimary } from '../../postgres/database-hosts.js';
import type { Projection } from './projection.js';
import { groupByPosition, isPoison } from './projection-runner.js';

describe('a group of projections that are folded together', () => {
  const projections: Projection[] = ['a', 'b', 'c', 'd'].map((name) => ({ name, tables: [], fold: async () => {} }));
  const at = (name: string, position: number, parked = false) => ({ name, position, parked });
  const groups = (...checkpoints: ReturnType<typeof at>[]) =>
    groupByPosition(projections, checkpoints, 100).map((group) => ({
      names: group.projections.map(({ name }) => name).join(''),
      after: group.after,
      most: group.most,
    }));

  it('has all projections while they have the same position', () => {
    expect(groups(at('a', 7), at('b', 7), at('c', 7))).toEqual([
      { names: 'abc', after: 7, most: Number.MAX_SAFE_INTEGER },
    ]);
  });

  it('ends where the next group is, which it then joins', () => {
    expect(groups(at('a', 90), at('b', 7), at('c', 50), at('d', 7))).toEqual([
      { names: 'bd', after: 7, most: 50 },
      { names: 'c', after: 50, most: 90 },
      { names: 'a', after: 90, most: Number.MAX_SAFE_INTEGER },
    ]);
  });

  it('has no parked projection, and none that has reached the head', () => {
    expect(groups(at('a', 100), at('b', 7, true), at('c', 120))).toEqual([]);
  });
});

describe('an error of a fold', () => {
  const withCode = (code: string) => Object.assign(new Error(`getaddrinfo ${code} db`), { code });

  it('is the fault of the event', () => {
    expect(isPoison(new TypeError('no such field'))).toBe(true);
  });

  it.each([
    new NoPrimary('no server accepts writes: db1:5432 is a standby; db2:5432 is a standby', 'no primary'),
    ...['EAI_AGAIN', 'EHOSTUNREACH', 'ENOENT'].map(withCode),
  ])('is not the fault of the event if the database cannot be reached: $message', (error) => {
    expect(isPoison(error)).toBe(false);
  });
});
