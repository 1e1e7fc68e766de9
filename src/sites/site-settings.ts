import { type SiteSettings } from '../events/site.events.js';
import { addressRanges } from '../kernel/addresses.js';
import { readCountry } from '../kernel/codes/countries.js';
import { readCurrency } from '../kernel/codes/currencies.js';
import { formatDuration } from '../kernel/durations.js';
import { isEmail, normaliseEmail, subjectOf } from '../kernel/email.js';
import { messageOf, UserError } from '../kernel/errors.js';
import { dedupWindowMs } from '../kernel/settings/settings.js';
import { normaliseHost } from './host.js';

export const DEFAULT_SITE_SETTINGS: SiteSettings = {
  dedupWindow: null,
  botThreshold: 30,
  botMode: 'enforce',
  consentRequired: false,
  withhold: 'identifiers',
  country: null,
  origins: [],
  blocked: [],
  blockDisposable: false,
  blockIps: [],
  allowIps: [],
  blockUserAgents: [],
  blockCountries: [],
  emailCapture: true,
  botFilter: 'leads',
  identifyBy: 'email',
  strictFields: false,
  currency: null,
};

interface Flag {
  readonly setting: keyof SiteSettings;
  /** Each value is added to the list. Other settings use the last value. */
  readonly list?: true;
  /** All values that it can have, if they are few. */
  readonly choices?: readonly string[];
  /** Converts an operator's input to the stored value; throws if it is invalid. */
  readonly parse: (text: string) => unknown;
}

const yesOrNo = oneOf('yes', 'no');
const YES_OR_NO = { ...yesOrNo, parse: (text: string) => yesOrNo.parse(text) === 'yes' };

/** The settings by the name of their command-line option. */
export const SITE_FLAGS: Readonly<Record<string, Flag>> = {
  'dedup-window': { setting: 'dedupWindow', parse: (text) => formatDuration(dedupWindowMs(text)) },
  'bot-threshold': { setting: 'botThreshold', parse: threshold },
  'bot-mode': { setting: 'botMode', ...oneOf('observe', 'enforce') },
  'bot-filter': { setting: 'botFilter', ...oneOf('leads', 'all', 'none') },
  'consent-required': { setting: 'consentRequired', ...YES_OR_NO },
  withhold: { setting: 'withhold', ...oneOf('identifiers', 'personal', 'everything') },
  country: { setting: 'country', parse: country },
  origin: { setting: 'origins', list: true, parse: host },
  block: { setting: 'blocked', list: true, parse: blockedAddress },
  'block-disposable': { setting: 'blockDisposable', ...YES_OR_NO },
  'block-ip': { setting: 'blockIps', list: true, parse: addressRange },
  'allow-ip': { setting: 'allowIps', list: true, parse: addressRange },
  'block-ua': { setting: 'blockUserAgents', list: true, parse: shortText },
  'block-country': { setting: 'blockCountries', list: true, parse: country },
  'email-capture': { setting: 'emailCapture', ...YES_OR_NO },
  'identify-by': { setting: 'identifyBy', ...oneOf('email', 'any') },
  'strict-fields': { setting: 'strictFields', ...YES_OR_NO },
  currency: { setting: 'currency', parse: currency },
};

export interface SettingsRequest {
  readonly set: readonly { readonly flag: string; readonly value: string }[];
  /** `<flag>` restores the default; `<flag>=<value>` removes one value from a list. */
  readonly unset: readonly string[];
}

/** The new values of the settings that a request changes. */
export function changedSettings(current: SiteSettings, request: SettingsRequest): Partial<SiteSettings> {
  const next: Record<string, unknown> = { ...current };
  for (const text of request.unset) {
    const [name = '', value] = splitOnce(text, '=');
    const flag = findFlag(name);
    if (value === undefined) next[flag.setting] = DEFAULT_SITE_SETTINGS[flag.setting];
    else if (!flag.list) throw new UserError(`--unset ${name} takes no value, because it is not a list.`);
    else {
      const list = next[flag.setting] as unknown[];
      // As it is listed, also if such a value is no longer accepted.
      const removed = list.includes(value) ? value : parseFlag(name, flag, value);
      next[flag.setting] = list.filter((entry) => entry !== removed);
    }
  }
  for (const { flag: name, value } of request.set) {
    const flag = findFlag(name);
    const parsed = parseFlag(name, flag, value);
    if (!flag.list) next[flag.setting] = parsed;
    else next[flag.setting] = [...new Set([...(next[flag.setting] as unknown[]), parsed])];
  }
  const changed = Object.entries(next).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(current[name as keyof SiteSettings]),
  );
  return Object.fromEntries(changed);
}

function findFlag(name: string): Flag {
  const flag = SITE_FLAGS[name];
  if (!flag) throw new UserError(`There is no setting "${name}". Available: ${Object.keys(SITE_FLAGS).join(', ')}.`);
  return flag;
}

function parseFlag(name: string, flag: Flag, value: string): unknown {
  try {
    return flag.parse(value);
  } catch (error) {
    throw new UserError(`--${name}: ${messageOf(error)}`);
  }
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function threshold(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 100) throw new Error(`"${text}" is not a whole number from 0 to 100`);
  return number;
}

function oneOf(...choices: string[]) {
  const parse = (text: string): string => {
    if (!choices.includes(text)) throw new Error(`"${text}" is not ${choices.join(' or ')}`);
    return text;
  };
  return { choices, parse };
}

/** Phone numbers and proxies use the same codes: with another one, such as UK, nothing would be completed or blocked. */
function country(text: string): string {
  const code = readCountry(text);
  if (code === undefined) throw new Error(`"${text}" is not an ISO 3166 country code such as DE or GB`);
  return code;
}

function currency(text: string): string {
  const code = readCurrency(text);
  if (code === undefined) throw new Error(`"${text}" is not an ISO 4217 currency code such as EUR`);
  return code;
}

function host(text: string): string {
  const name = normaliseHost(text);
  if (!name) throw new Error(`"${text}" is not a host name`);
  return name;
}

function addressRange(text: string): string {
  if (addressRanges(text).length === 0) throw new Error('give an address or a CIDR such as 10.0.0.0/8');
  return text.trim();
}

function shortText(text: string): string {
  if (text.trim() === '' || text.length > 255) throw new Error('give a text of 1 to 255 characters');
  return text;
}

/** Stores the hash of an address, never the address itself; later addresses are compared by hash. */
function blockedAddress(text: string): string {
  const address = normaliseEmail(text);
  // As it is listed, to remove it.
  if (/^[0-9a-f]{64}$/.test(address)) return address;
  if (address.startsWith('@')) return `@${host(address.slice(1))}`;
  if (!isEmail(address)) throw new Error('give an email address, or a domain such as @example.com');
  return subjectOf(address);
}
