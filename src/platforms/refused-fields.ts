import type { OptionalIdentifier } from './optional-identifiers.js';
import type { Verdict } from './platform.js';

/** The identifier that a platform's name of a field means. */
export type IdentifierNames = Readonly<Record<string, OptionalIdentifier>>;

/**
 * The verdict on a conversion that the platform refused for these fields. If all of them are identifiers, it is sent again without
 * them.
 */
export function refusedFields(
  fields: readonly (OptionalIdentifier | undefined)[],
  reason: string,
  requestId?: string,
): Extract<Verdict, { kind: 'rejected' | 'without' }> {
  const identifiers = new Set<OptionalIdentifier>();
  for (const field of fields) {
    if (field === undefined) return { kind: 'rejected', reason, requestId };
    identifiers.add(field);
  }
  if (identifiers.size === 0) return { kind: 'rejected', reason, requestId };
  return { kind: 'without', identifiers: [...identifiers], reason, requestId };
}
