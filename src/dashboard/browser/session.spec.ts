import { mayOperateAll, mayWrite, settingsOf } from './session.js';

const titles = (role: 'admin' | 'operator' | 'analyst', sites: string[] | null) =>
  settingsOf({ role, sites }).map(({ title }) => title);

describe('what a role sees', () => {
  it('is everything for administrators, and less for the others', () => {
    expect(titles('admin', null)).toEqual([
      'Users',
      'OAuth apps',
      'API tokens',
      'Alerts',
      'Health',
      'Projections',
      'Audit',
    ]);
    expect(titles('operator', null)).toEqual(['API tokens', 'Health', 'Projections']);
    expect(titles('operator', ['a.example'])).toEqual(['API tokens']);
    expect(titles('analyst', null)).toEqual(['API tokens']);
    expect(mayWrite({ role: 'operator' })).toBe(true);
    expect(mayWrite({ role: 'analyst' })).toBe(false);
  });

  it('includes new sites only with access to all', () => {
    expect(mayOperateAll({ role: 'admin', sites: [] })).toBe(true);
    expect(mayOperateAll({ role: 'operator', sites: null })).toBe(true);
    expect(mayOperateAll({ role: 'operator', sites: ['a.example'] })).toBe(false);
    expect(mayOperateAll({ role: 'analyst', sites: null })).toBe(false);
  });
});
