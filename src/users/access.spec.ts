import { may, type Permission, ROLES, seesSite, tokenPrincipal, userPrincipal } from './access.js';

const PERMISSIONS: readonly Permission[] = ['read', 'write', 'erase', 'administer'];

describe('access', () => {
  it.each([
    ['admin', ['read', 'write', 'erase', 'administer']],
    ['operator', ['read', 'write', 'erase']],
    ['analyst', ['read']],
  ] as const)('gives the role %s its permissions', (role, expected) => {
    const user = userPrincipal({ id: 'u', role, sites: 'all' });
    expect(PERMISSIONS.filter((permission) => may(user, permission))).toEqual(expected);
    expect(user.actor).toBe('user:u');
  });

  it('shows a user its sites only, and an administrator all of them', () => {
    const sites = ['one.example'];
    const sees = (role: (typeof ROLES)[number]) => seesSite(userPrincipal({ id: 'u', role, sites }), 'two.example');
    expect(ROLES.filter(sees)).toEqual(['admin']);
    expect(seesSite(userPrincipal({ id: 'u', role: 'analyst', sites }), 'one.example')).toBe(true);
  });

  it('gives a token no more than its scopes and what its owner has', () => {
    const owner = { id: 'u', role: 'operator', sites: ['one.example', 'two.example'] } as const;
    const token = tokenPrincipal({
      id: 't',
      scopes: ['read', 'erase'],
      sites: ['two.example', 'three.example'],
      owner,
    });
    expect(token).toEqual({ actor: 'token:t', userId: 'u', permissions: ['read', 'erase'], sites: ['two.example'] });
    const demoted = tokenPrincipal({
      id: 't',
      scopes: ['read', 'write'],
      sites: 'all',
      owner: { ...owner, role: 'analyst' },
    });
    expect(demoted.permissions).toEqual(['read']);
    expect(demoted.sites).toEqual(owner.sites);
  });

  it('never lets a token administer', () => {
    const owner = { id: 'u', role: 'admin', sites: 'all' } as const;
    const token = tokenPrincipal({ id: 't', scopes: ['read', 'write', 'erase'], sites: 'all', owner });
    expect(may(token, 'administer')).toBe(false);
  });
});
