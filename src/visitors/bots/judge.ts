import type { AddressRange } from '../../kernel/addresses.js';
import { AddressSet, addressKey } from './address-set.js';
import type { BotList } from './bot-list.js';
import type { SiteRules } from './site-rules.js';
import { type UserAgent, UserAgentReader } from './user-agents.js';
import { CERTAIN, type Reason, RULES, WEIGHTS } from './weights.js';

export { type BotList, loadBotList } from './bot-list.js';
export { type SiteRules, siteRulesOf } from './site-rules.js';
export type { Reason } from './weights.js';

/**
 * What the tag and the request show of a visit. All of it may be missing and none of it can be believed: it can make a visit
 * suspicious, never trustworthy. What is missing was not seen, and is held against nobody.
 */
export interface Signals {
  /** Empty: the request came without one. */
  readonly userAgent?: string;
  readonly ip?: string;
  /** Only where a trusted proxy told it. */
  readonly country?: string;
  /** Whether the request carried them. */
  readonly headers?: { readonly acceptLanguage?: boolean; readonly secFetch?: boolean };
  /** navigator.webdriver */
  readonly webdriver?: boolean;
  /** What automation left behind in the page, by name. */
  readonly automation?: readonly string[];
  /** navigator.languages.length */
  readonly languages?: number;
  readonly screen?: readonly [number, number];
  readonly viewport?: readonly [number, number];
  /** navigator.maxTouchPoints */
  readonly touch?: number;
  readonly plugins?: number;
  /** Kept, not judged: people open pages in the background. */
  readonly hidden?: boolean;
  /** From the start of the navigation until the tag ran. */
  readonly loadedMs?: number;
  /** From then until the form was sent or identifyEmail called; missing on a landing. */
  readonly submitMs?: number;
  /** Which of the two it was. Site code calls when it likes, so a call's timing says nothing about a person. */
  readonly identifiedBy?: 'form' | 'call';
  /** Pointer, key, scroll and touch events before that. */
  readonly interactions?: number;
  /** A field marked data-cc-honeypot was filled in. */
  readonly honeypot?: boolean;
}

export interface Judgement {
  /** 0 to 100: how likely it is a bot. */
  readonly score: number;
  readonly reasons: readonly Reason[];
  /** Versions of the list and of the rules. */
  readonly list: string;
}

/** From the start of the navigation. Nobody reads a page, fills in a form and sends it in that time. */
const FASTEST_PERSON_MS = 1_000;

/** Tells bots from people. No clock, no I/O: the same signals, rules and list always give the same judgement. */
export class BotJudge {
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

  judge(signals: Signals, rules: SiteRules): Judgement {
    const address = addressKey(signals.ip);
    if (address && setOf(rules.allowIp).has(address)) return { score: 0, reasons: ['allowed_ip'], list: this.list };
    const { userAgent } = signals;
    const reasons: Reason[] = [];
    if (address && setOf(rules.blockIp).has(address)) reasons.push('blocked_ip');
    if (isBlockedUserAgent(userAgent, rules)) reasons.push('blocked_user_agent');
    if (isBlockedCountry(signals.country, rules)) reasons.push('blocked_country');
    if (userAgent === '') reasons.push('no_user_agent');
    else if (typeof userAgent === 'string') this.judgeBrowser(this.userAgents.read(userAgent), signals, reasons);
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

  /** What the browser says that it is, and whether the rest fits. */
  private judgeBrowser(browser: UserAgent, { headers, touch, plugins }: Signals, reasons: Reason[]): void {
    if (browser.declares) reasons.push(browser.declares);
    if (browser.isPhone && touch === 0) reasons.push('phone_without_touch');
    if (browser.sendsFetchHeaders && headers?.secFetch === false) reasons.push('no_sec_fetch');
    // With a touch screen it may be a phone that asks for desktop pages under a desktop's name.
    if (browser.hasPlugins && plugins === 0 && touch === 0) reasons.push('no_plugins');
  }

  private isAutomated({ webdriver, automation }: Signals): boolean {
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
 * A form that went out within a second of the navigation while nobody touched anything. Both times are needed: on a slow
 * phone the tag may run after the form was filled in, and has then seen neither the time nor the touches that took.
 */
function isFasterThanPeople({ identifiedBy, loadedMs, submitMs, interactions }: Signals): boolean {
  if (identifiedBy === 'call' || interactions !== 0) return false;
  return typeof loadedMs === 'number' && typeof submitMs === 'number' && loadedMs + submitMs < FASTEST_PERSON_MS;
}

/** A screen without an extent, or the one that headless browsers have unless told otherwise: filled by the page to its edges. */
function isOddScreen({ screen, viewport, touch }: Signals): boolean {
  if (!Array.isArray(screen)) return false;
  const [width, height] = screen;
  if (width === 0 || height === 0) return true;
  const isFilled = Array.isArray(viewport) && viewport[0] === width && viewport[1] === height;
  return isFilled && width === 800 && height === 600 && touch === 0;
}

const sets = new WeakMap<readonly AddressRange[], AddressSet>();

/** A site's ranges are sorted when they are first needed, not with every visit. */
function setOf(ranges: readonly AddressRange[]): AddressSet {
  const known = sets.get(ranges);
  if (known) return known;
  const set = new AddressSet(ranges);
  sets.set(ranges, set);
  return set;
}
