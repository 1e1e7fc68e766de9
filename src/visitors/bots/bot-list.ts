import { readFileSync } from 'node:fs';
import { type AddressRange, addressRanges } from '../../kernel/addresses.js';
import { messageOf, UserError } from '../../kernel/errors.js';

/** Known bots as data. The data becomes outdated, so an operator can replace it without upgrading the service. */
export interface BotList {
  /** Part of every verdict. */
  readonly version: string;
  /** Substrings of User-Agents, in lower case. */
  readonly httpClients: readonly string[];
  readonly headless: readonly string[];
  /** Crawlers that isbot does not recognise. */
  readonly crawlers: readonly string[];
  /** Browsers that isbot mistakes for crawlers. */
  readonly browsers: readonly string[];
  /** Names of globals that automation tools leave in a page, as reported by the tag; in lower case. */
  readonly automation: readonly string[];
  readonly datacenters: readonly AddressRange[];
}

const SHIPPED = new URL('./bot-list.json', import.meta.url);
const TEXT_FIELDS = ['httpClients', 'headless', 'crawlers', 'browsers', 'automation'] as const;
const FIELDS = ['version', 'about', ...TEXT_FIELDS, 'datacenters'];

/** The shipped list, or an operator's file. Fields that the file omits come from the shipped list. */
export function loadBotList(file?: string): BotList {
  const shipped = readList(read(SHIPPED));
  if (file === undefined) return shipped as BotList;
  try {
    return { ...shipped, ...readList(read(file)) } as BotList;
  } catch (error) {
    throw new UserError(`The bot list ${file} cannot be used: ${messageOf(error)}. docs/bots.md describes the format.`);
  }
}

function read(file: string | URL): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`it cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}

function readList(document: unknown): Partial<BotList> {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new Error('it is not a JSON object');
  const fields = document as Record<string, unknown>;
  // A misspelt field would otherwise be ignored silently.
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw new Error(`unknown field "${unknown}" (known: ${FIELDS.join(', ')})`);
  const { version, datacenters } = fields;
  if (typeof version !== 'string' || !/^[\w.-]{1,40}$/.test(version))
    throw new Error('"version" must be 1 to 40 letters, digits, dots or dashes');
  const texts = TEXT_FIELDS.filter((name) => fields[name] !== undefined).map((name) => [
    name,
    readTexts(name, fields[name]),
  ]);
  return {
    version,
    ...Object.fromEntries(texts),
    ...(datacenters !== undefined && { datacenters: readDatacenters(datacenters) }),
  };
}

function readTexts(name: string, value: unknown): string[] {
  const isText = (entry: unknown) => typeof entry === 'string' && entry.trim() !== '';
  // An empty text would match every User-Agent.
  if (!Array.isArray(value) || !value.every(isText)) throw new Error(`"${name}" must be a list of texts, none empty`);
  return value.map((text: string) => text.toLowerCase());
}

/** `[{ "name", "source", "ranges": ["192.0.2.0/24", …] }, …]`: `name` is the provider, `source` documents the ranges. */
function readDatacenters(value: unknown): AddressRange[] {
  if (!Array.isArray(value)) throw new Error('"datacenters" must be a list');
  return value.flatMap((entry) => {
    const ranges = (entry as { ranges?: unknown } | null)?.ranges;
    if (!Array.isArray(ranges) || !ranges.every((range) => typeof range === 'string'))
      throw new Error('each of "datacenters" needs "ranges", a list of addresses and CIDRs');
    return ranges.flatMap((range: string) => addressRanges(range));
  });
}
