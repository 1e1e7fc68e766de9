import { parseRange } from './file-range.js';

describe('parseRange', () => {
  it.each([
    [undefined, undefined],
    ['bytes=0-9', { start: 0, length: 10 }],
    ['bytes=90-', { start: 90, length: 10 }],
    ['bytes=90-500', { start: 90, length: 10 }],
    ['bytes=-5', { start: 95, length: 5 }],
    ['bytes=-500', { start: 0, length: 100 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=9-3', undefined],
    ['bytes=-', undefined],
    ['bytes=0-1,5-6', undefined],
    ['items=0-1', undefined],
  ])('reads %j', (header, expected) => {
    expect(parseRange(header, 100)).toEqual(expected);
  });

  it('finds no part of an empty file', () => {
    expect(parseRange('bytes=0-', 0)).toBe('unsatisfiable');
    expect(parseRange('bytes=-1', 0)).toBe('unsatisfiable');
  });
});
