import type { IncomingMessage } from 'node:http';
import { addressRanges } from '../kernel/addresses.js';
import { RequestOrigin } from './request-origin.js';

function request(from: string, headers: Record<string, string> = {}, socket: object = {}): IncomingMessage {
  return {
    headers: { host: 'shop.example', ...headers },
    socket: { remoteAddress: from, localAddress: '127.0.0.1', ...socket },
  } as never;
}

describe('RequestOrigin', () => {
  const direct = new RequestOrigin([]);
  const behindProxy = new RequestOrigin(addressRanges('10.0.0.0/8, ::1'));

  it('treats plain HTTP as secure only from loopback to loopback', () => {
    expect(direct.isSecure(request('127.0.0.1'))).toBe(true);
    expect(direct.isSecure(request('::ffff:127.0.0.1'))).toBe(true);
    expect(direct.isSecure(request('192.0.2.1'))).toBe(false);
    expect(direct.isSecure(request('127.0.0.1', {}, { localAddress: '192.0.2.9' }))).toBe(false);
    expect(direct.isSecure(request('192.0.2.1', {}, { encrypted: true }))).toBe(true);
  });

  it('accepts the forwarded protocol only from a trusted proxy', () => {
    expect(behindProxy.isSecure(request('10.1.2.3', { 'x-forwarded-proto': 'https' }))).toBe(true);
    expect(behindProxy.isSecure(request('10.1.2.3', { 'x-forwarded-proto': 'http' }))).toBe(false);
    expect(behindProxy.isSecure(request('10.1.2.3', { 'x-forwarded-proto': 'https, http' }))).toBe(false);
    expect(behindProxy.isSecure(request('10.1.2.3'))).toBe(false);
    expect(behindProxy.isSecure(request('192.0.2.1', { 'x-forwarded-proto': 'https' }))).toBe(false);
  });

  it('treats a request that an undeclared local proxy forwarded as plain HTTP', () => {
    for (const header of [
      'x-forwarded-proto',
      'x-forwarded-for',
      'x-forwarded-host',
      'x-real-ip',
      'forwarded',
      'via',
    ]) {
      expect([header, direct.isSecure(request('127.0.0.1', { [header]: 'http' }))]).toEqual([header, false]);
      // Its client can have sent the header itself.
      expect([header, direct.isSecure(request('127.0.0.1', { [header]: 'https' }))]).toEqual([header, false]);
    }
  });

  it('requires a trusted proxy to report the protocol', () => {
    expect(behindProxy.isSecure(request('::1', { 'x-forwarded-for': '203.0.113.7' }, { localAddress: '::1' }))).toBe(
      false,
    );
    expect(behindProxy.isSecure(request('::1', {}, { localAddress: '::1' }))).toBe(true);
  });

  it('requires HTTPS of the client of a trusted proxy that itself connects over TLS', () => {
    const overTls = (from: string, headers: Record<string, string>) =>
      behindProxy.isSecure(request(from, headers, { encrypted: true }));
    expect(overTls('10.1.2.3', { 'x-forwarded-proto': 'http' })).toBe(false);
    expect(overTls('10.1.2.3', { 'x-forwarded-for': '203.0.113.7' })).toBe(false);
    expect(overTls('10.1.2.3', { 'x-forwarded-proto': 'https' })).toBe(true);
    expect(overTls('10.1.2.3', {})).toBe(true);
    expect(overTls('192.0.2.1', { 'x-forwarded-proto': 'http' })).toBe(true);
  });

  it('accepts the forwarded host only from a trusted proxy', () => {
    const headers = { 'x-forwarded-host': 'other.example' };
    expect(behindProxy.host(request('10.1.2.3', headers))).toBe('other.example');
    expect(behindProxy.host(request('192.0.2.1', headers))).toBe('shop.example');
    expect(direct.host(request('127.0.0.1', headers))).toBe('shop.example');
  });

  it('finds the client behind any number of trusted proxies, and ignores hops beyond them', () => {
    const chain = (value: string) => behindProxy.address(request('10.1.2.3', { 'x-forwarded-for': value }));
    expect(chain('203.0.113.7')).toBe('203.0.113.7');
    expect(chain('127.0.0.1, 203.0.113.7, 10.9.9.9')).toBe('203.0.113.7');
    expect(direct.address(request('192.0.2.1', { 'x-forwarded-for': '127.0.0.1' }))).toBe('192.0.2.1');
    expect(chain('198.51.100.7:49152')).toBe('198.51.100.7');
    expect(chain('198.51.100.7:49152, 10.9.9.9:80')).toBe('198.51.100.7');
    expect(chain('[2001:db8::7]:49152')).toBe('2001:db8::7');
    expect(chain('[2001:db8::7]')).toBe('2001:db8::7');
    expect(chain('2001:db8::7')).toBe('2001:db8::7');
  });

  it('does not treat a client behind an undeclared local proxy as local', () => {
    expect(direct.isLocal(request('127.0.0.1'))).toBe(true);
    expect(direct.isLocal(request('127.0.0.1', { 'x-forwarded-for': '203.0.113.7' }))).toBe(false);
    expect(direct.isLocal(request('127.0.0.1', { via: '1.1 proxy' }))).toBe(false);
  });
});
