import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type AddressRange, addressRanges, isLoopbackHost } from '../addresses.js';
import { formatDuration, parseDurationMs } from '../durations.js';

/** Describes the format of a setting for `docs/settings.md`, and parses it. */
export interface Format<Value> {
  readonly text: string;
  parse(text: string): Value;
}

export const text: Format<string> = { text: 'text', parse: String };
/** Also one of a machine without a domain. */
export const email: Format<string> = { text: 'email address', parse: parseEmail };
export const path: Format<string> = { text: 'path', parse: (value) => resolve(value) };
export const pemFile: Format<string> = { text: 'path of a PEM file', parse: readPem };
export const secret: Format<Buffer> = { text: '64 hexadecimal characters', parse: secretKey };
export const postgresUrl: Format<string> = { text: '`postgres://` URL', parse: parsePostgresUrl };
export const standbyUrl: Format<string> = { text: '`postgres://` URL of one server', parse: parseStandbyUrl };
export const addresses: Format<AddressRange[]> = { text: 'list of addresses and CIDRs', parse: addressRanges };
export const brokers: Format<string[]> = { text: 'list of `host:port`', parse: parseBrokers };
export const headerName: Format<string> = { text: 'name of a header', parse: parseHeaderName };
/** Names of topics consist of these characters; our own names follow the same rule. */
export const name: Format<string> = {
  text: 'up to 100 letters, digits, dots, dashes and underscores',
  parse: parseName,
};
export const duration: Format<number> = { text: 'duration', parse: parseDurationMs };
export const durations: Format<number[]> = { text: 'list of durations', parse: parseDurations };
export const flag: Format<boolean> = {
  text: '`true` or `false`',
  parse: (value) => oneOf(['true', 'false']).parse(value) === 'true',
};

export function durationBetween(leastMs: number, mostMs: number): Format<number> {
  const [least, most] = [formatDuration(leastMs), formatDuration(mostMs)];
  return {
    text: `duration, ${least} to ${most}`,
    parse: (value) => {
      const ms = parseDurationMs(value);
      if (ms < leastMs || ms > mostMs) throw new Error(`"${value}" is out of range: ${least} to ${most}`);
      return ms;
    },
  };
}

export function durationFrom(leastMs: number): Format<number> {
  const least = formatDuration(leastMs);
  return {
    text: `duration, at least ${least}`,
    parse: (value) => {
      const ms = parseDurationMs(value);
      if (ms < leastMs) throw new Error(`"${value}" is too short: at least ${least}`);
      return ms;
    },
  };
}

export function wholeNumber(least: number, most: number): Format<number> {
  return {
    text: `whole number, ${least} to ${most}`,
    parse: (value) => {
      const number = Number(value);
      if (!/^\d+$/.test(value) || number < least || number > most) {
        throw new Error(`"${value}" is not a whole number from ${least} to ${most}`);
      }
      return number;
    },
  };
}

/** Undefined: do not listen. */
export const portOrOff: Format<number | undefined> = {
  text: 'whole number, 0 to 65535, or `off`',
  parse: (value) => (value === 'off' ? undefined : wholeNumber(0, 65_535).parse(value)),
};

/** Scheme, host and port, without a path. */
export const origin: Format<string> = { text: 'URL without a path', parse: parseOrigin };

/** A share, as OpenTelemetry writes it. */
export const ratio: Format<number> = { text: 'number, 0 to 1', parse: parseRatio };

/** Address of a service that the operator runs, so that http is allowed. It may have a path. */
/** It contains a password: error messages never contain the value. */
export const smtpUrl: Format<string> = { text: '`smtps://` or `smtp://` URL', parse: parseSmtpUrl };

export const serviceUrl: Format<string> = { text: '`http://` or `https://` URL', parse: parseServiceUrl };

/** With https, or on this machine. */
export const issuerUrl: Format<string> = { text: '`https://` URL', parse: parseIssuer };

/** Addresses of management APIs by the name of their cell. */
export const cellUrls: Format<ReadonlyMap<string, string>> = {
  text: 'list of `name=https://…`',
  parse: (value) => byName(value, adminOrigin),
};

/** With https, or on this machine: API keys and personal data pass there. */
export const cellAddress: Format<string> = { text: '`https://` URL without a path', parse: parseCellAddress };

/** Error messages never contain the value. */
export const cellTokens: Format<ReadonlyMap<string, string>> = {
  text: 'list of `name=token`',
  parse: (value) =>
    byName(value, (token) => {
      if (!/^[\w.~+/-]+=*$/.test(token)) throw new Error('is not a list such as north=cct_…,south=cct_…');
      return token;
    }),
};

/** What may be used in a day (UTC). */
export interface DailyBudget {
  /** Distinct ones. */
  readonly emails: number;
  readonly calls: number;
  readonly bytes: number;
}

export const dailyBudget: Format<DailyBudget> = {
  text: '`<emails>/<calls>/<megabytes>` in a day',
  parse: (value) => {
    const parts = value.split('/');
    if (parts.length !== 3 || !parts.every((part) => /^\d{1,9}$/.test(part)))
      throw new Error(`"${value}" is not <emails>/<calls>/<megabytes>, such as 500/20000/50`);
    const [emails, calls, megabytes] = parts.map(Number) as [number, number, number];
    return { emails, calls, bytes: megabytes * 1_000_000 };
  },
};

export function oneOf<const Value extends string>(values: readonly Value[]): Format<Value> {
  const quoted = values.map((value) => `\`${value}\``);
  return {
    text: `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`,
    parse: (value) => {
      if (!values.includes(value as Value)) throw new Error(`"${value}" is not one of ${values.join(', ')}`);
      return value as Value;
    },
  };
}

export function secretKey(value: string): Buffer {
  // Error messages never contain the value.
  if (!/^[0-9a-f]{64}$/i.test(value)) throw new Error('must be 64 hexadecimal characters');
  return Buffer.from(value, 'hex');
}

function parseDurations(value: string): number[] {
  const list = value.split(',').map(parseDurationMs);
  if (list.some((ms) => ms === 0)) throw new Error(`"${value}" contains a duration of zero`);
  return list;
}

function parseName(value: string): string {
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(value)) {
    throw new Error(`"${value}" is not a name of at most 100 letters, digits, dots, dashes and underscores`);
  }
  return value;
}

function parseBrokers(value: string): string[] {
  return value.split(',').map((part) => {
    const [, port] = /^[A-Za-z0-9._-]+:(\d{1,5})$/.exec(part.trim()) ?? [];
    if (port === undefined || Number(port) > 65_535) throw new Error(`"${part}" is not host:port`);
    return part.trim();
  });
}

function byName<Value>(list: string, parse: (value: string) => Value): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const part of list.split(',').map((each) => each.trim())) {
    const at = part.indexOf('=');
    const key = part.slice(0, Math.max(0, at));
    if (!/^[A-Za-z0-9._-]{1,100}$/.test(key) || values.has(key))
      throw new Error('is not a list of name=value, each name once');
    values.set(key, parse(part.slice(at + 1)));
  }
  return values;
}

/** A token is sent there. The error does not contain the value, which may be a token that was set in the wrong place. */
function adminOrigin(value: string): string {
  const origin = originOf(value);
  const isSafe = origin && (origin.startsWith('https:') || isLoopbackHost(new URL(origin).hostname));
  if (!isSafe)
    throw new Error('is not a list of names and https URLs without a path, such as north=https://admin.north.example');
  return origin;
}

function parseCellAddress(value: string): string {
  const origin = originOf(value);
  const isSafe = origin && (origin.startsWith('https:') || isLoopbackHost(new URL(origin).hostname));
  if (!isSafe) throw new Error(`"${value}" is not an https URL without a path, such as https://north.example`);
  return origin;
}

function parseHeaderName(value: string): string {
  if (!/^[\w-]+$/.test(value)) throw new Error(`"${value}" is not the name of a header`);
  return value.toLowerCase();
}

function parseOrigin(value: string): string {
  const origin = originOf(value);
  if (!origin) throw new Error(`"${value}" is not a URL such as https://admin.example, without a path`);
  return origin;
}

/** Undefined if it is no URL, or has more than scheme, host and port. */
function originOf(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const hasMore = !url || `${url.pathname}${url.search}${url.hash}${url.username}` !== '/';
  return hasMore || !/^https?:$/.test(url.protocol) ? undefined : url.origin;
}

function parseRatio(value: string): number {
  const number = Number(value);
  if (!/^(?:0|1|[01]?\.\d+)$/.test(value) || number > 1) throw new Error(`"${value}" is not a number from 0 to 1`);
  return number;
}

function parseServiceUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || `${url.search}${url.hash}${url.username}${url.password}` !== '')
    throw new Error('must be a URL such as http://127.0.0.1:4318, without a query or credentials');
  return value;
}

function parseSmtpUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new Error('must be a URL such as smtps://user:password@smtp.example:465');
  return value;
}

function parseIssuer(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
  if (!isSafe) throw new Error(`"${value}" is not a URL such as https://id.example`);
  return value;
}

function parsePostgresUrl(value: string): string {
  if (!/^postgres(ql)?:\/\//.test(value)) throw new Error('must begin with postgres://');
  const attributes = /[?&]target_session_attrs=([^&]*)/.exec(value)?.[1] ?? 'read-write';
  if (!/^(read-write|primary|any)$/.test(attributes))
    throw new Error('target_session_attrs must be read-write or primary: the service writes');
  return value;
}

function parseStandbyUrl(value: string): string {
  if (!/^postgres(ql)?:\/\//.test(value)) throw new Error('must begin with postgres://');
  // The password may contain a comma.
  const hosts = /^[^/?]*/.exec(value.replace(/^[a-z]+:\/\/(?:[^/?]*@)?/, ''))?.[0] ?? '';
  if (hosts.includes(',')) throw new Error('names several servers: name one, or a proxy that leads to a standby');
  return value;
}

function readPem(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function parseEmail(value: string): string {
  if (!/^[^\s@]+@[^\s@]+$/.test(value)) throw new Error(`"${value}" is not an email address`);
  return value.toLowerCase();
}
