import { fromLocal, toLocal } from './local-time.js';

describe('a time in a field', () => {
  it('is in the zone of the viewer, and UTC for the API', () => {
    expect(fromLocal('')).toBeUndefined();
    expect(fromLocal('2026-11-16T12:00')).toMatch(/^2026-11-1[567]T\d\d:\d0:00\.000Z$/);
    expect(toLocal(fromLocal('2026-11-16T12:34'))).toBe('2026-11-16T12:34');
    expect(toLocal(undefined)).toBe('');
    expect(['x', '275760-09-14T00:00'].map(fromLocal)).toEqual([undefined, undefined]);
    expect(toLocal('nonsense')).toBe('');
  });
});
