import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isGlobalUnicast } from './global-unicast.js';

/** The name or address does not resolve to a host on the public internet. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/**
 * A `lookup` for sockets that returns only global unicast addresses. The socket connects to exactly these addresses and resolves
 * the name for every connection, so that DNS rebinding cannot change the address between check and use.
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
