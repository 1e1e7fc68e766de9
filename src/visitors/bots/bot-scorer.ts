import type { SiteSettings } from '../../events/site.events.js';
import type { BotReason, BotVerdict, VisitSignals } from '../../events/visitor.events.js';
import { type AddressRange, addressRanges } from '../../kernel/addresses.js';
import { AddressSet, addressKey } from './address-set.js';
import type { BotList } from './bot-list.js';
import { type UserAgent, UserAgentReader } from './user-agents.js';
import { CERTAIN, RULES, WEIGHTS } from './weights.js';

/** From the start of the navigation. No person reads a page, fills in a form and submits it in less. */
const FASTEST_PERSON_MS = 1_000;

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

/** Scores visits. Deterministic: the same signals, rules and list always give the same verdict. */
export class BotScorer {
  private readonly userAgents: UserAgentReader;
  private readonly automation: ReadonlySet<string>;
  private readonly datacenters: AddressSet;
  private readonly list: string;

  constructor(list: BotList) {
    this.userAgents = new UserAgentReader(list);
    this.automation = new Set(list.automation);
    this.datacenters = new AddressSet(list.datacenters);
    this.list = `${list.version}/rules-${RULES}`;
  }

  score(signals: VisitSignals, rules: SiteRules): BotVerdict {
    const address = addressKey(signals.ip);
    if (address && setOf(rules.allowIp).has(address)) return { score: 0, reasons: ['allowed_ip'], list: this.list };
    const { userAgent } = signals;
    const reasons: BotReason[] = [];
    if (address && setOf(rules.blockIp).has(address)) reasons.push('blocked_ip');
    if (isBlockedUserAgent(userAgent, rules)) reasons.push('blocked_user_agent');
    if (isBlockedCountry(signals.country, rules)) reasons.push('blocked_country');
    if (userAgent === '') reasons.push('no_user_agent');
    else if (typeof userAgent === 'string') this.addBrowserReasons(this.userAgents.read(userAgent), signals, reasons);
    if (this.isAutomated(signals)) reasons.push('automation');
    if (signals.honeypot === true) reasons.push('honeypot');
    if (isFasterThanPeople(signals)) reasons.push('impossible_timing');
    if (isOddScreen(signals)) reasons.push('odd_screen');
    if (signals.languages === 0) reasons.push('no_languages');
    if (signals.headers?.acceptLanguage === false) reasons.push('no_accept_language');
    if (address && this.datacenters.has(address)) reasons.push('datacenter');
    const sum = reasons.reduce((total, reason) => total + WEIGHTS[reason], 0);
    return { score: Math.min(CERTAIN, sum), reasons, list: this.list };
  }

  /** Compares what the User-Agent claims with the other signals. */
  private addBrowserReasons(browser: UserAgent, { headers, touch, plugins }: VisitSignals, reasons: BotReason[]): void {
    if (browser.declares) reasons.push(browser.declares);
    if (browser.isPhone && touch === 0) reasons.push('phone_without_touch');
    if (browser.sendsFetchHeaders && headers?.secFetch === false) reasons.push('no_sec_fetch');
    // With a touch screen it may be a phone that requests desktop pages with a desktop User-Agent.
    if (browser.hasPlugins && plugins === 0 && touch === 0) reasons.push('no_plugins');
  }

  private isAutomated({ webdriver, automation }: VisitSignals): boolean {
    if (webdriver === true) return true;
    const isKnown = (name: unknown) => typeof name === 'string' && this.automation.has(name.toLowerCase());
    return Array.isArray(automation) && automation.some(isKnown);
  }
}

function isBlockedUserAgent(userAgent: unknown, { blockUserAgents }: SiteRules): boolean {
  if (blockUserAgents.length === 0 || typeof userAgent !== 'string') return false;
  const text = userAgent.toLowerCase();
  return blockUserAgents.some((part) => text.includes(part));
}

function isBlockedCountry(country: unknown, { blockCountries }: SiteRules): boolean {
  return blockCountries.length > 0 && typeof country === 'string' && blockCountries.includes(country.toUpperCase());
}

/**
 * A form submitted within a second of the navigation and without any interaction. Requires both times: on a slow phone the
 * tag may start after the form was filled in and then has observed neither the time nor the interactions.
 */
function isFasterThanPeople({ identifiedBy, loadedMs, submitMs, interactions }: VisitSignals): boolean {
  if (identifiedBy === 'call' || interactions !== 0) return false;
  return typeof loadedMs === 'number' && typeof submitMs === 'number' && loadedMs + submitMs < FASTEST_PERSON_MS;
}

/** A screen of size 0, or the default of headless browsers: 800 × 600, with a viewport of the same size. */
function isOddScreen({ screen, viewport, touch }: VisitSignals): boolean {
  if (!Array.isArray(screen)) return false;
  const [width, height] = screen;
  if (width === 0 || height === 0) return true;
  const isFilled = Array.isArray(viewport) && viewport[0] === width && viewport[1] === height;
  return isFilled && width === 800 && height === 600 && touch === 0;
}

const sets = new WeakMap<readonly AddressRange[], AddressSet>();

/** Caches the set: sorting a site's ranges for every visit would be slow. */
function setOf(ranges: readonly AddressRange[]): AddressSet {
  const cached = sets.get(ranges);
  if (cached) return cached;
  const set = new AddressSet(ranges);
  sets.set(ranges, set);
  return set;
}
