import { isbot } from 'isbot';
import type { BotReason } from '../../events/visitor.events.js';
import type { BotList } from './bot-list.js';

/** What a User-Agent claims. */
export interface UserAgent {
  /** Software that declares itself as something other than a browser. */
  readonly declares: Extract<BotReason, 'declared_crawler' | 'http_client' | 'headless'> | undefined;
  /** A phone, which has a touch screen. */
  readonly isPhone: boolean;
  /** A desktop browser that ships with PDF plug-ins. */
  readonly hasPlugins: boolean;
  /** A browser that sends Sec-Fetch headers with every request. */
  readonly sendsFetchHeaders: boolean;
}

/** No browser sends more; some patterns of isbot are slow on long hostile input. */
const MAX_LENGTH = 512;
/** A few thousand User-Agents make up nearly all traffic. A caller who sends new ones all the time only empties the cache. */
const CACHE_MAX = 4_000;

/** Parses User-Agents and caches the results: isbot on a long User-Agent costs more than all other rules together. */
export class UserAgentReader {
  private readonly cache = new Map<string, UserAgent>();
  private readonly headless: RegExp | undefined;
  private readonly httpClients: RegExp | undefined;
  private readonly crawlers: RegExp | undefined;
  private readonly browsers: RegExp | undefined;

  constructor(list: BotList) {
    this.headless = anyOf(list.headless);
    this.httpClients = anyOf(list.httpClients);
    this.crawlers = anyOf(list.crawlers);
    this.browsers = anyOf(list.browsers);
  }

  read(userAgent: string): UserAgent {
    const text = userAgent.slice(0, MAX_LENGTH);
    const cached = this.cache.get(text);
    if (cached) return cached;
    const parsed = { declares: this.declared(text), ...claims(text) };
    if (this.cache.size >= CACHE_MAX) this.cache.clear();
    this.cache.set(text, parsed);
    return parsed;
  }

  /** The most specific list first: isbot also matches HTTP clients and headless browsers, without telling which. */
  private declared(text: string): UserAgent['declares'] {
    if (this.headless?.test(text)) return 'headless';
    if (this.httpClients?.test(text)) return 'http_client';
    if (this.crawlers?.test(text)) return 'declared_crawler';
    return isbot(text) && !this.browsers?.test(text) ? 'declared_crawler' : undefined;
  }
}

function claims(text: string): Omit<UserAgent, 'declares'> {
  const chromium = version(text, /\bChrom(?:e|ium)\/(\d+)/);
  const isPhone = /\biPhone;|\bAndroid\b.*\bMobile\b/.test(text);
  const isDesktop = /\((?:Windows NT|Macintosh|X11)\b/.test(text) && !/\bMobile\b|\bTV\b|SmartTV/i.test(text);
  // Apps with an embedded browser choose their own request headers.
  const isApp = /; wv\)|\bElectron\//.test(text);
  return {
    isPhone,
    hasPlugins: isDesktop && !isApp && chromium >= 94,
    sendsFetchHeaders:
      !isApp &&
      (chromium >= 80 ||
        version(text, /\bFirefox\/(\d+)/) >= 90 ||
        version(text, /\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//) >= 17),
  };
}

function version(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}

/** Undefined for an empty list: an empty pattern would match everything. */
function anyOf(texts: readonly string[]): RegExp | undefined {
  if (texts.length === 0) return undefined;
  return new RegExp(texts.map((text) => text.replace(/[^\w\s]/g, '\\$&')).join('|'), 'i');
}
