import { getDomain } from 'tldts';

/**
 * The domain that its owner has registered, or got at a host such as myshopify.com. Undefined for what no one registers: a public
 * suffix, an address, a single name.
 */
export function ownDomain(host: string): string | undefined {
  return getDomain(host, { allowPrivateDomains: true, validateHostname: false }) ?? undefined;
}

/** Whether they are one host, or one lies below the other. */
export function overlap(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);
}
