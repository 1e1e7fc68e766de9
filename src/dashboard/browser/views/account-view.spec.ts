import { accountRows, otherSessions, passwordError, sessionsText } from './account-view.js';

const USER = {
  id: '1',
  email: 'ada@shop.example',
  name: 'Ada',
  disabled: false,
  createdAt: '2026-03-01T09:30:00.000Z',
};
const session = (current: boolean) => ({
  ...{ current, createdAt: USER.createdAt, lastUsedAt: USER.createdAt, expiresAt: USER.createdAt },
});

describe('the account of a user', () => {
  it('says what the user may do, and where', () => {
    const rows = accountRows({ ...USER, role: 'analyst', sites: ['a.example', 'b.example'] });
    expect(rows).toEqual([
      { name: 'name', value: 'Ada' },
      { name: 'email', value: 'ada@shop.example' },
      { name: 'role', value: 'Analyst: reads' },
      { name: 'sites', value: 'a.example, b.example' },
    ]);
    const sitesOf = (user: Parameters<typeof accountRows>[0]) => accountRows(user).at(-1)?.value;
    expect(sitesOf({ ...USER, role: 'operator', sites: [] })).toBe('none');
    expect(sitesOf({ ...USER, role: 'operator', sites: null })).toBe('all');
    expect(sitesOf({ ...USER, role: 'admin', sites: [] })).toBe('all');
  });

  it('counts the sessions in other browsers', () => {
    expect(sessionsText([session(true)])).toBe('this browser only');
    expect(sessionsText([session(true), session(false), session(false)])).toBe('this browser and 2 others');
    expect(otherSessions([session(true), session(false)])).toBe(1);
  });

  it('compares a repeated password once there is one', () => {
    expect(passwordError('one', '')).toBeUndefined();
    expect(passwordError('one', 'one')).toBeUndefined();
    expect(passwordError('one', 'two')).toBe('The passwords differ.');
  });
});
