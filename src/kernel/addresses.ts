import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Base address and prefix length. */
export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Parses a comma-separated list of addresses and CIDRs. */
export function addressRanges(text: string): AddressRange[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      if (ipaddr.isValidCIDR(part)) return ipaddr.parseCIDR(part) as AddressRange;
      if (!ipaddr.isValid(part)) throw new Error(`"${part}" is neither an address nor a CIDR such as 10.0.0.0/8`);
      const address = ipaddr.process(part);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
}

/** Whether an address is in one of the ranges. An IPv4-mapped IPv6 address counts as the IPv4 address. */
export function isWithin(address: string | undefined, ranges: readonly AddressRange[]): boolean {
  if (ranges.length === 0 || address === undefined || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some(([base, bits]) => parsed.kind() === base.kind() && parsed.match(base as never, bits));
}

/** A host of an address or URL, which may be a name. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || isLoopback(host);
}

export function isLoopback(address: string | undefined): boolean {
  // A header or the host of a page may be any text, such as the name 127.evil.
  if (address === undefined || isIP(address) === 0) return false;
  return address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.');
}

/** IPv6 clients are limited by /64 network, because one client usually owns all addresses of it. */
export function networkOf(address: string | undefined): string {
  if (address === undefined || !address.includes(':') || !ipaddr.isValid(address)) return address ?? '';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}
