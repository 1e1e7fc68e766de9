import { readFileSync } from 'node:fs';
import { type AddressRange, addressRanges } from '../../kernel/addresses.js';
import { messageOf, UserError } from '../../kernel/errors.js';

/** What is known about bots as data: it ages, so it can be replaced without a new version of the service. */
export interface BotList {
  /** Stands in every judgement. */
  readonly version: string;
  /** Parts of User-Agents, in lower case, wherever they stand. */
  readonly httpClients: readonly string[];
  readonly headless: readonly string[];
  /** Crawlers that isbot does not know. */
  readonly crawlers: readonly string[];
  /** Browsers that isbot takes for crawlers. */
  readonly browsers: readonly string[];
  /** Names of what automation leaves behind in a page, as the tag reports them; in lower case. */
  readonly automation: readonly string[];
  readonly datacenters: readonly AddressRange[];
}

const SHIPPED = new URL('./bot-list.json', import.meta.url);
const TEXTS = ['httpClients', 'headless', 'crawlers', 'browsers', 'automation'] as const;
const PARTS = ['version', 'about', ...TEXTS, 'datacenters'];

/** The list that comes with the service, or an operator's own: what a file leaves out is taken from the shipped one. */
export function loadBotList(file?: string): BotList {
  const shipped = readList(read(SHIPPED));
  if (file === undefined) return shipped as BotList;
  try {
    return { ...shipped, ...readList(read(file)) } as BotList;
  } catch (error) {
    throw new UserError(`The bot list ${file} cannot be used: ${messageOf(error)}. docs/bots.md shows how one looks.`);
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
  const given = document as Record<string, unknown>;
  // A misspelt part would be one that is silently not there.
  const unknown = Object.keys(given).find((name) => !PARTS.includes(name));
  if (unknown !== undefined) throw new Error(`there is no part "${unknown}" (there are ${PARTS.join(', ')})`);
  const { version, datacenters } = given;
  if (typeof version !== 'string' || !/^[\w.-]{1,40}$/.test(version))
    throw new Error('"version" must be 1 to 40 letters, digits, dots or dashes');
  const texts = TEXTS.filter((name) => given[name] !== undefined).map((name) => [name, readTexts(name, given[name])]);
  return {
    version,
    ...Object.fromEntries(texts),
    ...(datacenters !== undefined && { datacenters: readDatacenters(datacenters) }),
  };
}

function readTexts(name: string, value: unknown): string[] {
  const isText = (entry: unknown) => typeof entry === 'string' && entry.trim() !== '';
  // An empty text is part of every User-Agent.
  if (!Array.isArray(value) || !value.every(isText)) throw new Error(`"${name}" must be a list of texts, none empty`);
  return value.map((text: string) => text.toLowerCase());
}

/** `[{ "name", "source", "ranges": ["192.0.2.0/24", …] }, …]`: whose they are and who says so stands beside them. */
function readDatacenters(value: unknown): AddressRange[] {
  if (!Array.isArray(value)) throw new Error('"datacenters" must be a list');
  return value.flatMap((entry) => {
    const ranges = (entry as { ranges?: unknown } | null)?.ranges;
    if (!Array.isArray(ranges) || !ranges.every((range) => typeof range === 'string'))
      throw new Error('each of "datacenters" needs "ranges", a list of addresses and CIDRs');
    return ranges.flatMap((range: string) => addressRanges(range));
  });
}
