import { type SiteSettings } from '../events/site.events.js';
import { addressRanges } from '../kernel/addresses.js';
import { formatDuration } from '../kernel/durations.js';
import { isEmail, normaliseEmail, subjectOf } from '../kernel/email.js';
import { messageOf, UserError } from '../kernel/errors.js';
import { dedupWindowMs } from '../kernel/settings.js';
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
};

interface Flag {
  readonly setting: keyof SiteSettings;
  /** A list grows by each value; other settings take the last one. */
  readonly list?: true;
  /** From what an operator types to what is stored; throws when it cannot be that. */
  readonly read: (text: string) => unknown;
}

/** The command line's spelling of each setting. */
export const SITE_FLAGS: Readonly<Record<string, Flag>> = {
  'dedup-window': { setting: 'dedupWindow', read: (text) => formatDuration(dedupWindowMs(text)) },
  'bot-threshold': { setting: 'botThreshold', read: threshold },
  'bot-mode': { setting: 'botMode', read: oneOf('observe', 'enforce') },
  'consent-required': { setting: 'consentRequired', read: yesOrNo },
  withhold: { setting: 'withhold', read: oneOf('identifiers', 'everything') },
  country: { setting: 'country', read: country },
  origin: { setting: 'origins', list: true, read: host },
  block: { setting: 'blocked', list: true, read: blockedAddress },
  'block-disposable': { setting: 'blockDisposable', read: yesOrNo },
  'block-ip': { setting: 'blockIps', list: true, read: addressRange },
  'allow-ip': { setting: 'allowIps', list: true, read: addressRange },
  'block-ua': { setting: 'blockUserAgents', list: true, read: shortText },
  'block-country': { setting: 'blockCountries', list: true, read: country },
  'email-capture': { setting: 'emailCapture', read: yesOrNo },
};

export interface SettingsRequest {
  readonly set: readonly { readonly flag: string; readonly value: string }[];
  /** `<flag>` goes back to its default; `<flag>=<value>` takes one value off a list. */
  readonly unset: readonly string[];
}

/** The settings that a request changes, with their new values. */
export function changedSettings(current: SiteSettings, request: SettingsRequest): Partial<SiteSettings> {
  const next: Record<string, unknown> = { ...current };
  for (const text of request.unset) {
    const [name = '', value] = splitOnce(text, '=');
    const flag = findFlag(name);
    if (value === undefined) next[flag.setting] = DEFAULT_SITE_SETTINGS[flag.setting];
    else if (!flag.list) throw new UserError(`--unset ${name} takes no value: it is not a list.`);
    else
      next[flag.setting] = (next[flag.setting] as unknown[]).filter((entry) => entry !== readFlag(name, flag, value));
  }
  for (const { flag: name, value } of request.set) {
    const flag = findFlag(name);
    const read = readFlag(name, flag, value);
    if (!flag.list) next[flag.setting] = read;
    else next[flag.setting] = [...new Set([...(next[flag.setting] as unknown[]), read])];
  }
  const changed = Object.entries(next).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(current[name as keyof SiteSettings]),
  );
  return Object.fromEntries(changed);
}

function findFlag(name: string): Flag {
  const flag = SITE_FLAGS[name];
  if (!flag) throw new UserError(`There is no setting "${name}". There are: ${Object.keys(SITE_FLAGS).join(', ')}.`);
  return flag;
}

function readFlag(name: string, flag: Flag, value: string): unknown {
  try {
    return flag.read(value);
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

function oneOf(...values: string[]) {
  return (text: string): string => {
    if (!values.includes(text)) throw new Error(`"${text}" is not ${values.join(' or ')}`);
    return text;
  };
}

function yesOrNo(text: string): boolean {
  return oneOf('yes', 'no')(text) === 'yes';
}

const REGIONS = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

function country(text: string): string {
  const code = text.toUpperCase();
  if (!/^[A-Z]{2}$/.test(code) || REGIONS.of(code) === undefined)
    throw new Error(`"${text}" is not a two-letter country code such as DE`);
  return code;
}

function host(text: string): string {
  const name = normaliseHost(text);
  if (!name) throw new Error(`"${text}" is not a host name`);
  return name;
}

function addressRange(text: string): string {
  addressRanges(text);
  return text.trim();
}

function shortText(text: string): string {
  if (text.trim() === '' || text.length > 255) throw new Error('give a text of 1 to 255 characters');
  return text;
}

/** Nobody's address is stored: it is its hash that later addresses are compared with. */
function blockedAddress(text: string): string {
  const address = normaliseEmail(text);
  if (address.startsWith('@')) return `@${host(address.slice(1))}`;
  if (!isEmail(address)) throw new Error('give an email address, or a domain such as @example.com');
  return subjectOf(address);
}
