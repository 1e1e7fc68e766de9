import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** All of IANA's IPv4 special-purpose registry, then multicast. Also its reachable parts: no receiver lives there. */
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

/** The only space that global unicast addresses are given out from: what lies elsewhere is special or nobody's. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** What IANA's IPv6 special-purpose registry has set aside within that space. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'].map((range) =>
  ipaddr.IPv6.parseCIDR(range),
);

/**
 * Whether an address, as a socket is given it, belongs to one host on the public internet. An IPv6 address that carries
 * an IPv4 one (mapped, compatible, NAT64, 6to4, Teredo) never does, whatever it carries, and neither does text that is
 * no plain address: other spellings of IPv4, zones, names.
 */
export function isGlobalUnicast(address: string): boolean {
  // A range of ipaddr.js is not asked for: it calls addresses outside 2000::/3 that have no range of their own unicast.
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
