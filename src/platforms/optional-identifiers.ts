/**
 * What identifies a person beside other identifiers, so that a conversion can be sent without it. `device`: IP address and user agent.
 * The names are stored.
 */
export const OPTIONAL_IDENTIFIERS = ['email', 'phone', 'address', 'externalId', 'click', 'cookie', 'device'] as const;
export type OptionalIdentifier = (typeof OPTIONAL_IDENTIFIERS)[number];
