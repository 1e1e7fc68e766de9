import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isGlobalUnicast } from './global-unicast.js';

/** The name or address leads to no host on the public internet. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/**
 * Looks a name up for a socket and tells it global unicast addresses only. The socket connects to what it is told here
 * and asks anew for every connection, so a name cannot be one address when it is judged and another when it is used.
 */
export function guardedLookup(resolve: typeof lookup = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const allowed = addresses.filter(({ address }) => isGlobalUnicast(address));
      const [first] = allowed;
      if (!first) return callback(new AddressRefused(), []);
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}
