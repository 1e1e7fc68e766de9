import { parseDurationMs } from '../kernel/durations.js';
import type { SiteSettings } from '../sites/site-settings.js';

/** How long a repeat counts as one: the site's own window, or the service's default. */
export function dedupWindowOf(settings: SiteSettings, defaultMs: number): number {
  return settings.dedupWindow === null ? defaultMs : parseDurationMs(settings.dedupWindow);
}
