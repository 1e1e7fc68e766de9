import { splitHosts } from './database-hosts.js';

describe('the servers of a connection URL', () => {
  it.each([
    ['postgres://db.example/shop', 'postgres://db.example/shop', [{ host: 'db.example', port: 5432 }]],
    [
      'postgres://user:p%40ss@one:5433,two/shop?sslmode=verify-full',
      'postgres://user:p%40ss@one:5433/shop?sslmode=verify-full',
      [
        { host: 'one', port: 5433 },
        { host: 'two', port: 5432 },
      ],
    ],
    [
      'postgresql://[::1]:5433,127.0.0.1:5434/shop',
      'postgresql://[::1]:5433/shop',
      [
        { host: '::1', port: 5433 },
        { host: '127.0.0.1', port: 5434 },
      ],
    ],
    [
      'postgres://user@%2Frun%2Fone:5432,%2Frun%2Ftwo:5432/shop',
      'postgres://user@%2Frun%2Fone:5432/shop',
      [
        { host: '/run/one', port: 5432 },
        { host: '/run/two', port: 5432 },
      ],
    ],
    ['postgres://user:a@b,c@one/shop', 'postgres://user:a@b,c@one/shop', [{ host: 'one', port: 5432 }]],
    // Such a URL names the only server in another way.
    ['postgres://user@/shop?host=/run/one', 'postgres://user@/shop?host=/run/one', [{ host: 'localhost', port: 5432 }]],
  ])('are read from %s', (given, url, hosts) => {
    expect(splitHosts(given)).toEqual({ url, hosts });
  });

  it('must be names and ports', () => {
    expect(() => splitHosts('postgres://user:secret@one:543x/shop')).toThrow(/such as db1:5432/);
  });
});
