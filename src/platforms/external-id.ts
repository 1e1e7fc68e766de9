import { hash } from 'node:crypto';
import type { Conversion } from './conversion.js';
import { externalIdHash } from './customer-hashes.js';
import { oneOf } from './fields.js';
import { FIRST_PAYLOAD_VERSION } from './payload-version.js';
import type { Field, Settings } from './platform.js';

/** The sender's id of the customer. Personal, so after an opt-out there is none. */
export function externalIdOf({ externalId, consent }: Conversion): string | undefined {
  return consent === 'denied' ? undefined : externalId;
}

/** The setting of platforms that recognise a customer by an id only if the browser reports it in the same form. */
export function externalIdForm(fallback: 'hashed' | undefined): Field {
  const without = fallback === undefined ? 'Without it, the id is not sent.' : '';
  return {
    name: 'external_id',
    help: `How externalId is sent: hashed (SHA-256) or plain, as the tag on the page reports it. ${without}`.trimEnd(),
    check: oneOf('hashed', 'plain'),
    ...(fallback !== undefined && { fallback }),
  };
}

/** The sender's id of the customer in the form that the connection sets; undefined when it is not sent. */
export function formedExternalId(
  conversion: Conversion,
  settings: Settings,
  fallback: 'hashed' | undefined,
): string | undefined {
  const id = externalIdOf(conversion);
  const form = settings['external_id'] ?? fallback;
  if (id === undefined || form === undefined) return undefined;
  if (form === 'plain') return id;
  // The first version hashed an id that was a SHA-256 already once more.
  return conversion.payloadVersion === FIRST_PAYLOAD_VERSION ? hash('sha256', id) : externalIdHash(id);
}
