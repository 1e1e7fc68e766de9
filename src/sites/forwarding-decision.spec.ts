import { decideForwarding } from './forwarding-decision.js';
import type { Site, SiteMove } from './site.js';

const PATH = '/__cc/inbound';
const HERE = { kind: 'here' };
const left = (address?: string): SiteMove => ({ state: 'left', to: 'b', ...(address && { address }) });
const decide = (move?: SiteMove, { path = PATH, by }: { path?: string; by?: string } = {}) =>
  decideForwarding({ host: 'shop.example', move } as Site, path, by);

describe('decideForwarding', () => {
  it('leaves requests to this cell while it has the site, or another cell is about to give it away', () => {
    expect(decide()).toEqual(HERE);
    expect(decide(undefined, { by: 'a' })).toEqual(HERE);
    expect(decide({ state: 'leaving', to: 'b' })).toEqual(HERE);
    expect(decide({ state: 'arriving' }, { by: 'a' })).toEqual(HERE);
    expect(decideForwarding(undefined, PATH, undefined)).toEqual(HERE);
  });

  it('forwards requests for a site that has left', () => {
    const decision = decide(left('https://b.example:8443'));
    expect(decision).toEqual({ kind: 'forward', to: 'b', address: new URL('https://b.example:8443') });
    expect(decide(left('http://127.0.0.1:8080'))).toMatchObject({ kind: 'forward' });
  });

  it('never forwards a request twice', () => {
    const decision = decide(left('https://b.example'), { by: 'b' });
    expect(decision).toEqual({ kind: 'refuse', reason: 'loop' });
  });

  it('asks for a retry if a site was forwarded to a cell that does not have it', () => {
    const decision = decideForwarding(undefined, PATH, 'a');
    expect(decision).toEqual({ kind: 'refuse', reason: 'unknown' });
  });

  it.each([undefined, 'http://b.example', 'http://127.evil', 'ftp://127.0.0.1', 'b.example'])(
    'sends no key to the address %s',
    (address) => {
      expect(decide(left(address))).toEqual({ kind: 'refuse', reason: 'address' });
    },
  );

  it.each(['/../../metrics', '/%2e%2E/x', '/..', '/.%2e?x', '/..%2fx', '/..\\x', '/./x'])(
    'does not forward the path %s, which a proxy may resolve',
    (rest) => expect(decide(left('https://b.example'), { path: `${PATH}${rest}` })).toEqual(HERE),
  );

  it.each(['/a..b', '?order=/../x', '/..a', '/...'])('forwards the path %s', (rest) =>
    expect(decide(left('https://b.example'), { path: `${PATH}${rest}` })).toMatchObject({ kind: 'forward' }),
  );
});
