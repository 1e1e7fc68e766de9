import { hideSecrets } from './hide-secrets.js';

describe('hideSecrets', () => {
  it('removes secrets as they are, and as a request encodes them', () => {
    const hide = hideSecrets(['4/0Ab code~!', 'client-secret', 'client-secret-2', undefined, 'short']);
    expect(hide('4/0Ab code~! 4%2F0Ab%20code~! 4%2F0Ab+code%7E%21 client-secret-2 client-secret short')).toBe(
      '… … … … … short',
    );
  });
});
