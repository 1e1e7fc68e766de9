import { type SiteSettings } from '../events/site.events.js';

/** A site as folded from the log, or as a row of its projection. */
export interface SiteFields {
  readonly id: string;
  readonly host: string;
  readonly aliases: readonly string[];
  readonly inbound: boolean;
  readonly paused: boolean;
  readonly settings: SiteSettings;
  readonly createdAt: string | Date;
  readonly removed?: boolean | undefined;
}

export function siteDocument({ id, host, aliases, inbound, paused, createdAt, removed }: SiteFields) {
  return {
    id,
    host,
    aliases,
    inbound,
    createdAt: new Date(createdAt).toISOString(),
    ...(paused && { paused: true as const }),
    ...(removed && { removed: true as const }),
  };
}
