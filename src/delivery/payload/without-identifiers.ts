import type { Conversion } from '../../platforms/conversion.js';
import type { OptionalIdentifier } from '../../platforms/optional-identifiers.js';
import type { PersonalHashes } from '../../platforms/personal-hashes.js';

/** The conversion without identifiers that the platform refused. */
export function withoutIdentifiers(conversion: Conversion, identifiers: readonly OptionalIdentifier[]): Conversion {
  return identifiers.reduce(without, conversion);
}

function without(conversion: Conversion, identifier: OptionalIdentifier): Conversion {
  const { hashes, visit } = conversion;
  switch (identifier) {
    case 'email':
      return { ...conversion, hashes: withoutHashes({ ...hashes, subject: '' }, 'emailGoogle', 'emailBare') };
    case 'phone':
      return { ...conversion, hashes: withoutHashes(hashes, 'phone', 'phoneDigits') };
    case 'address':
      return {
        ...conversion,
        address: undefined,
        hashes: withoutHashes(hashes, 'city', 'region', 'postalCode', 'country'),
      };
    case 'externalId':
      return { ...conversion, externalId: undefined };
    case 'click':
      return visit ? { ...conversion, visit: { ...visit, clicks: {} } } : conversion;
    case 'cookie':
      return visit ? { ...conversion, visit: { ...visit, cookies: {} } } : conversion;
    case 'device':
      return visit ? { ...conversion, visit: { ...visit, ip: undefined, userAgent: undefined } } : conversion;
  }
}

function withoutHashes(
  hashes: PersonalHashes,
  ...names: readonly Exclude<keyof PersonalHashes, 'subject'>[]
): PersonalHashes {
  const kept = { ...hashes };
  for (const name of names) delete kept[name];
  return kept;
}
