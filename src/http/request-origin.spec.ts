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
  const alone = new RequestOrigin([]);
  const behindProxy = new RequestOrigin(addressRanges('10.0.0.0/8, ::1'));

  it('takes plain HTTP from loopback to loopback only', () => {
    expect(alone.isSecure(request('127.0.0.1'))).toBe(true);
    expect(alone.isSecure(request('::ffff:127.0.0.1'))).toBe(true);
    expect(alone.isSecure(request('192.0.2.1'))).toBe(false);
    expect(alone.isSecure(request('127.0.0.1', {}, { localAddress: '192.0.2.9' }))).toBe(false);
    expect(alone.isSecure(request('192.0.2.1', {}, { encrypted: true }))).toBe(true);
  });

  it('believes a trusted proxy, and nobody else, about the protocol', () => {
    expect(behindProxy.isSecure(request('10.1.2.3', { 'x-forwarded-proto': 'https' }))).toBe(true);
    expect(behindProxy.isSecure(request('10.1.2.3', { 'x-forwarded-proto': 'http' }))).toBe(false);
    expect(behindProxy.isSecure(request('10.1.2.3', { 'x-forwarded-proto': 'https, http' }))).toBe(false);
    expect(behindProxy.isSecure(request('10.1.2.3'))).toBe(false);
    expect(behindProxy.isSecure(request('192.0.2.1', { 'x-forwarded-proto': 'https' }))).toBe(false);
  });

  it('takes the host from a trusted proxy only', () => {
    const headers = { 'x-forwarded-host': 'other.example' };
    expect(behindProxy.host(request('10.1.2.3', headers))).toBe('other.example');
    expect(behindProxy.host(request('192.0.2.1', headers))).toBe('shop.example');
    expect(alone.host(request('127.0.0.1', headers))).toBe('shop.example');
  });

  it('finds the sender behind any number of trusted proxies, and no further', () => {
    const chain = (value: string) => behindProxy.address(request('10.1.2.3', { 'x-forwarded-for': value }));
    expect(chain('203.0.113.7')).toBe('203.0.113.7');
    expect(chain('127.0.0.1, 203.0.113.7, 10.9.9.9')).toBe('203.0.113.7');
    expect(alone.address(request('192.0.2.1', { 'x-forwarded-for': '127.0.0.1' }))).toBe('192.0.2.1');
  });

  it('does not take a visitor for local whom an undeclared proxy on this machine lets through', () => {
    expect(alone.isLocal(request('127.0.0.1'))).toBe(true);
    expect(alone.isLocal(request('127.0.0.1', { 'x-forwarded-for': '203.0.113.7' }))).toBe(false);
    expect(alone.isLocal(request('127.0.0.1', { via: '1.1 proxy' }))).toBe(false);
  });
});
