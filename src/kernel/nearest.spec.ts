import { nearest } from './nearest.js';

const TYPES = ['conversion.received.v1', 'conversion.rejected.v1', 'visitor.visited.v1'];

describe('nearest', () => {
  it.each([
    ['conversion.recieved.v1', 'conversion.received.v1'],
    ['conversion.received', 'conversion.received.v1'],
    ['visitor.visit.v1', 'visitor.visited.v1'],
  ])('finds what %s was meant to be', (word, meant) => {
    expect(nearest(word, TYPES)).toBe(meant);
  });

  it('finds --site for --sight', () => {
    expect(nearest('--sight', ['--json', '--name', '--site', '--trial', '--help'])).toBe('--site');
  });

  it.each(['', 'x', 'something.else.entirely'])('finds nothing for "%s"', (word) => {
    expect(nearest(word, TYPES)).toBeUndefined();
  });
});
