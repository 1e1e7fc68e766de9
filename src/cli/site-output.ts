import { dedupWindowOf } from '../conversions/dedup-key.js';
import { type SiteSettings } from '../events/site.events.js';
import { formatDuration } from '../kernel/durations.js';
import { SITE_FLAGS } from '../sites/site-settings.js';
import { card } from './output.js';

interface SomeSite {
  readonly id: string;
  readonly host: string;
  readonly aliases: readonly string[];
  readonly inbound: boolean;
  readonly settings: SiteSettings;
  readonly createdAt: string | Date;
}

export function siteDocument({ id, host, aliases, inbound, createdAt }: SomeSite) {
  return { id, host, aliases, inbound, createdAt: new Date(createdAt).toISOString() };
}

/** With its settings as they count: a site without a window of its own has the service's. */
export function siteWithSettings(site: SomeSite, defaultWindowMs: number) {
  const dedupWindow = formatDuration(dedupWindowOf(site.settings, defaultWindowMs));
  return { ...siteDocument(site), settings: { ...site.settings, dedupWindow } };
}

export function siteCard({ id, host, aliases, inbound, createdAt }: ReturnType<typeof siteDocument>): string {
  return card({ host, aliases, inbound, id, created: createdAt });
}

/** Under the names by which they are set. */
export function settingsCard(settings: SiteSettings): string {
  return card(
    Object.fromEntries(Object.entries(SITE_FLAGS).map(([flag, { setting }]) => [`--${flag}`, settings[setting]])),
  );
}
