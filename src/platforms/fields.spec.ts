import { versionLike } from './fields.js';

describe('versionLike', () => {
  it.each([
    ['v26.0', 'v27.10', ['26.0', 'v26', 'v26.0.1', 'v26x0', 'v26.', 'v26.0/me']],
    ['v5', 'v13', ['5', 'V5', 'v5.0', 'v5\n']],
  ])('in the format of %s accepts %s and refuses %j', (example, good, bad) => {
    expect(versionLike(example)(good)).toBeUndefined();
    for (const value of bad) expect(versionLike(example)(value)).toBe(`must be a version such as ${example}`);
  });
});
