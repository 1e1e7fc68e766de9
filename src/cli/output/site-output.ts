import { dedupWindowOf } from '../../conversions/dedup-key.js';
import { type SiteSettings } from '../../events/site.events.js';
import { formatDuration } from '../../kernel/durations.js';
import type { Site } from '../../sites/site.js';
import { siteDocument } from '../../sites/site-document.js';
import { SITE_FLAGS } from '../../sites/site-settings.js';
import { card } from './table.js';

/** With the effective settings: a site without a dedup window uses the service's. */
export function siteWithSettings(site: Site, defaultWindowMs: number) {
  const dedupWindow = formatDuration(dedupWindowOf(site.settings, defaultWindowMs));
  return { ...siteDocument(site), settings: { ...site.settings, dedupWindow } };
}

export function siteCard({ createdAt, ...site }: ReturnType<typeof siteDocument>): string {
  const { id, host, aliases, inbound, paused, move, removed } = site;
  return card({
    ...{ host, aliases, inbound, id, created: createdAt },
    ...(paused && { paused }),
    ...(move && { move: move.to === undefined ? move.state : `${move.state} for cell ${move.to}` }),
    ...(removed && { removed }),
  });
}

/** The settings by the name of their option. */
export function settingsCard(settings: SiteSettings): string {
  return card(
    Object.fromEntries(Object.entries(SITE_FLAGS).map(([flag, { setting }]) => [`--${flag}`, settings[setting]])),
  );
}
