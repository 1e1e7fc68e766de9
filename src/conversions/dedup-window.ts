import { type SiteSettings } from '../events/site.events.js';
import { parseDurationMs } from '../kernel/durations.js';

/** How long a repeat counts as one: the site's own window, or the service's default. */
export function dedupWindowOf(settings: SiteSettings, defaultMs: number): number {
  return settings.dedupWindow === null ? defaultMs : parseDurationMs(settings.dedupWindow);
}
