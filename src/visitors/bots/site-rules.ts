import { type SiteSettings } from '../../events/site.events.js';
import { type AddressRange, addressRanges } from '../../kernel/addresses.js';

/** A site's own bot rules, parsed. */
export interface SiteRules {
  readonly blockIp: readonly AddressRange[];
  readonly allowIp: readonly AddressRange[];
  /** Substrings of User-Agents, in lower case. */
  readonly blockUserAgents: readonly string[];
  /** ISO 3166-1, in upper case. */
  readonly blockCountries: readonly string[];
}

const cache = new WeakMap<SiteSettings, SiteRules>();

/** Cached by the settings object, which is immutable. */
export function siteRulesOf(settings: SiteSettings): SiteRules {
  const cached = cache.get(settings);
  if (cached) return cached;
  const rules: SiteRules = {
    blockIp: settings.blockIps.flatMap(addressRanges),
    allowIp: settings.allowIps.flatMap(addressRanges),
    blockUserAgents: settings.blockUserAgents.map((text) => text.toLowerCase()),
    blockCountries: settings.blockCountries.map((code) => code.toUpperCase()),
  };
  cache.set(settings, rules);
  return rules;
}
