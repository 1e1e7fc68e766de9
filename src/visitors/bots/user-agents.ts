import { isbot } from 'isbot';
import type { BotReason } from '../../events/visitor.events.js';
import type { BotList } from './bot-list.js';

/** What can be told from a User-Agent alone. */
export interface UserAgent {
  /** Software that says that it is no browser. */
  readonly declares: Extract<BotReason, 'declared_crawler' | 'http_client' | 'headless'> | undefined;
  /** Claims to be a phone, which has a touch screen. */
  readonly isPhone: boolean;
  /** Claims to be a browser on a desktop that comes with plug-ins for PDF. */
  readonly hasPlugins: boolean;
  /** Claims to be a browser that sends Sec-Fetch headers with every request. */
  readonly sendsFetchHeaders: boolean;
}

/** No browser's is longer; isbot's patterns are not all quick on what a stranger may think of. */
const MAX_LENGTH = 512;
/** A few thousand make up nearly all traffic; a stranger who sends new ones all the time only empties it. */
const REMEMBERED = 4_000;

/** Reads User-Agents, and remembers what it read: isbot's look at a long one costs more than all other rules together. */
export class UserAgentReader {
  private readonly known = new Map<string, UserAgent>();
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
    const known = this.known.get(text);
    if (known) return known;
    const read = { declares: this.declared(text), ...claims(text) };
    if (this.known.size >= REMEMBERED) this.known.clear();
    this.known.set(text, read);
    return read;
  }

  /** The narrowest word first: isbot knows clients and headless browsers too, and tells them all alike. */
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
  // Apps that show pages in a window of their own decide themselves what goes out.
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

/** Undefined where there is nothing to look for: an empty pattern is found everywhere. */
function anyOf(texts: readonly string[]): RegExp | undefined {
  if (texts.length === 0) return undefined;
  return new RegExp(texts.map((text) => text.replace(/[^\w\s]/g, '\\$&')).join('|'), 'i');
}
