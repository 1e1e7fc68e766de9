import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** IANA's IPv4 special-purpose registry, including its globally reachable entries (no receiver uses them), and multicast. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '240.0.0.0/4',
  '224.0.0.0/4',
].map((range) => ipaddr.IPv4.parseCIDR(range));

/** The only block from which global unicast addresses are allocated. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Entries of IANA's IPv6 special-purpose registry within that block. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'].map((range) =>
  ipaddr.IPv6.parseCIDR(range),
);

/**
 * Whether an address, as it is passed to a socket, belongs to one host on the public internet. Never for an IPv6 address that
 * embeds an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo), and never for text that is not a plain address: other
 * notations of IPv4, zones, names.
 */
export function isGlobalUnicast(address: string): boolean {
  // Not `range()` of ipaddr.js: it returns unicast for addresses outside 2000::/3 that have no named range.
  switch (isIP(address)) {
    case 4: {
      const ip = ipaddr.IPv4.parse(address);
      return !SPECIAL_IPV4.some((range) => ip.match(range));
    }
    case 6: {
      if (address.includes('%')) return false;
      const ip = ipaddr.IPv6.parse(address);
      return ip.match(GLOBAL_IPV6) && !SPECIAL_IPV6.some((range) => ip.match(range));
    }
    default:
      return false;
  }
}
