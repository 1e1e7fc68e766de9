import type { IncomingMessage } from 'node:http';
import { addressRanges } from '../../kernel/addresses.js';
import { SameHost } from './same-host.js';

function request(headers: Record<string, string>, remoteAddress = '127.0.0.1'): IncomingMessage {
  return { headers, socket: { remoteAddress, localAddress: '127.0.0.1' } } as unknown as IncomingMessage;
}

const refused = expect.stringContaining('not accepted');

describe('hosts of the management API', () => {
  describe('on loopback', () => {
    const hosts = new SameHost({ adminUrl: undefined, trustedProxies: [] });
    it.each([
      [{ host: 'localhost:8081' }, undefined],
      [{ host: '127.0.0.1:8081' }, undefined],
      [{ host: '[::1]:8081' }, undefined],
      [{ host: 'localhost:8081', origin: 'http://localhost:8081' }, undefined],
      [{ host: 'localhost:8081', origin: 'http://localhost:3000' }, refused],
      [{ host: 'localhost:8081', origin: 'null' }, refused],
      [{ host: 'shop.example' }, refused],
      [{ host: '127.0.0.1.evil.example:8081' }, refused],
      [{ host: 'localhost.evil.example' }, refused],
      [{}, refused],
    ])('accept or refuse a request with the headers %j', (headers, expected) => {
      expect(hosts.refusal(request(headers as Record<string, string>))).toEqual(expected);
    });
  });

  describe('behind a proxy', () => {
    const hosts = new SameHost({ adminUrl: 'https://admin.example', trustedProxies: addressRanges('10.0.0.1') });
    const forwarded = { host: 'internal', 'x-forwarded-host': 'admin.example', 'x-forwarded-proto': 'https' };
    it.each([
      ['by the proxy', forwarded, '10.0.0.1', undefined],
      ['with the page of this origin', { ...forwarded, origin: 'https://admin.example' }, '10.0.0.1', undefined],
      ['with the page of another origin', { ...forwarded, origin: 'https://evil.example' }, '10.0.0.1', refused],
      ['under another name', { ...forwarded, 'x-forwarded-host': 'evil.example' }, '10.0.0.1', refused],
      ['by another machine', forwarded, '10.0.0.2', refused],
      ['in plain HTTP', { ...forwarded, 'x-forwarded-proto': 'http' }, '10.0.0.1', 'Use https://admin.example.'],
      ['without the proxy', { host: 'admin.example' }, '10.0.0.2', 'Use https://admin.example.'],
    ])('accept or refuse a request that is sent %s', (_, headers, from, expected) => {
      expect(hosts.refusal(request(headers, from))).toEqual(expected);
    });
  });

  it.each([
    [undefined, '__Host-cc_session_8081'],
    ['https://cc.example', '__Host-cc_session'],
  ])('have cookies of their own, also beside another port of the same host: %s', (adminUrl, name) => {
    const hosts = new SameHost({ adminUrl, trustedProxies: [] });
    const { headers } = request({});
    const own = { headers, socket: { localPort: 8081 } } as unknown as IncomingMessage;
    expect(hosts.cookieName('cc_session', own)).toBe(name);
  });
});
