import { type AddressRange, addressRanges } from '../../kernel/addresses.js';
import type { SiteSettings } from '../../sites/site-settings.js';

/** What a site has said about its visitors, ready to be compared with. */
export interface SiteRules {
  readonly blockIp: readonly AddressRange[];
  readonly allowIp: readonly AddressRange[];
  /** Parts of User-Agents, in lower case. */
  readonly blockUserAgents: readonly string[];
  /** ISO 3166-1, in upper case. */
  readonly blockCountries: readonly string[];
}

const prepared = new WeakMap<SiteSettings, SiteRules>();

/** Settings are replaced, never changed: what was made of them once serves as long as they do. */
export function siteRulesOf(settings: SiteSettings): SiteRules {
  const known = prepared.get(settings);
  if (known) return known;
  const rules: SiteRules = {
    blockIp: settings.blockIps.flatMap(addressRanges),
    allowIp: settings.allowIps.flatMap(addressRanges),
    blockUserAgents: settings.blockUserAgents.map((text) => text.toLowerCase()),
    blockCountries: settings.blockCountries.map((code) => code.toUpperCase()),
  };
  prepared.set(settings, rules);
  return rules;
}
