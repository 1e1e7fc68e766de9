import ipaddr from 'ipaddr.js';
import type { AddressRange } from './settings.js';

/** Whether an address lies in one of the ranges; an IPv4 address written as IPv6 counts as the IPv4 one it is. */
export function isWithin(address: string | undefined, ranges: readonly AddressRange[]): boolean {
  if (ranges.length === 0 || address === undefined || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some(([base, bits]) => parsed.kind() === base.kind() && parsed.match(base as never, bits));
}

export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  return address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.');
}
