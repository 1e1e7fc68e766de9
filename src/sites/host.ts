import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

const MAX_LENGTH = 253;
const NAME = /^(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/;
/** The URL standard parses such a host as an IPv4 address. */
const ENDS_IN_A_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/**
 * The canonical form of a host, from a Host header or an operator's input: lower case, no port, no trailing dot, IDN as
 * `xn--`, IPv6 canonical in brackets. Undefined if the text is neither a host name nor an IP address.
 */
export function normaliseHost(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  return isHost(text) ? text : normalise(text);
}

function isHost(text: string): boolean {
  return text.length <= MAX_LENGTH && NAME.test(text) && (!ENDS_IN_A_NUMBER.test(text) || isIPv4(text));
}

function normalise(text: string): string | undefined {
  // Bounds the work below. A Unicode name is shorter than its ASCII form, so a valid one is never this long.
  if (text.length > 1024) return undefined;
  // An operator may type an IPv6 address without brackets. A Host header may not, so there is no port to strip.
  if (isIPv6(text)) return normaliseIPv6(text);
  const { host, port } = /^(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>\d*))?$/.exec(text)?.groups ?? {};
  if (host === undefined || Number(port ?? 0) > 65_535) return undefined;
  if (host.startsWith('[')) return normaliseIPv6(host.slice(1, -1));
  const name = toASCII(host.toLowerCase()).replace(/\.$/, '');
  return isHost(name) ? name : undefined;
}

function toASCII(name: string): string {
  // domainToASCII decodes `%2e` and drops everything after a `/`, so it is given plain names only.
  return /^[a-z0-9_.-]*$/.test(name) || !/^[a-z0-9_.\u0080-\u{10ffff}-]*$/u.test(name) ? name : domainToASCII(name);
}

function normaliseIPv6(address: string): string | undefined {
  return isIPv6(address) ? domainToASCII(`[${address}]`) || undefined : undefined;
}
