import { changedList, isChange, type ListChange, NO_CHANGE, withEntry } from './list-change.js';

const VALUES = ['DE', 'FR'];
const changeAfter = (...entries: Parameters<typeof withEntry>[2][]): ListChange =>
  entries.reduce<ListChange>((change, entry) => withEntry(VALUES, change, entry), NO_CHANGE);

describe('a change of a list', () => {
  it('collects what is added and removed', () => {
    const change = changeAfter({ add: 'US' }, { remove: 'DE' });
    expect(change).toEqual({ add: ['US'], remove: ['DE'] });
    expect(changedList(VALUES, change)).toEqual(['FR', 'US']);
    expect(isChange(change)).toBe(true);
  });

  it('is empty again after the opposite change', () => {
    expect(changeAfter({ add: 'US' }, { remove: 'US' })).toEqual(NO_CHANGE);
    expect(changeAfter({ remove: 'DE' }, { add: 'DE' })).toEqual(NO_CHANGE);
    expect(isChange(NO_CHANGE)).toBe(false);
  });

  it('adds nothing twice', () => {
    expect(changeAfter({ add: 'DE' }, { add: 'US' }, { add: 'US' })).toEqual({ add: ['US'], remove: [] });
  });
});
