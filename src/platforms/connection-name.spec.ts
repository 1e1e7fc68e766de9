import { type ConnectionName, compareConnections, isConnectionName, platformNameOf } from './connection-name.js';
import { platformOf } from './index.js';

describe('connection name', () => {
  it.each(['meta', 'meta:second', 'crm', 'crm:second', 'google_ads:0', `webhook:${'a'.repeat(32)}`, 'x:a-b_c'])(
    'accepts %s',
    (name) => {
      expect(isConnectionName(name)).toBe(true);
    },
  );

  it.each([
    '',
    '0ther',
    `a${'b'.repeat(32)}`,
    'meta:',
    'meta:Second',
    'META',
    'meta:-a',
    'meta:_a',
    'meta:a.b',
    'meta:a b',
    'meta:a\n',
    'meta:a:b',
    'meta:ä',
    'meta:*',
    `meta:${'a'.repeat(33)}`,
    '__proto__',
    'meta:__proto__',
  ])('refuses %j', (name) => {
    expect(isConnectionName(name)).toBe(false);
  });

  it('tells the platform', () => {
    expect(platformNameOf('meta')).toBe('meta');
    expect(platformNameOf('google_ads:second')).toBe('google_ads');
    expect(platformOf('google_ads:second')?.name).toBe('google_ads');
    expect(platformOf('other:second')).toBeUndefined();
  });

  it('is ordered by platform, then by name, the plain one first', () => {
    const names: ConnectionName[] = [
      'x',
      'crm:a',
      'meta:b',
      'webhook:a',
      'meta:a',
      'google_ads:z',
      'meta',
      'meta:0',
      'meta:a-',
    ];
    expect(names.sort(compareConnections)).toEqual([
      'google_ads:z',
      'meta',
      'meta:0',
      'meta:a',
      'meta:a-',
      'meta:b',
      'x',
      'webhook:a',
      'crm:a',
    ]);
  });
});
