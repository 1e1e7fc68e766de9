import type { ConversionPersonal } from '../../events/conversion.events.js';
import type { PlatformResponse } from '../../platforms/platform.js';

/** A shorter text, such as a country, is a part of many words and tells nothing about a person. */
const LENGTH_MIN = 3;
/** A text of this length is hidden in longer words, too: platforms join click ids with other values. */
const JOINED_MIN = 8;
const DIGEST = /^[0-9a-f]{64}$/;
const NEITHER_LETTER_NOR_DIGIT = /[^\p{L}\p{N}]/gu;
const HIDDEN = '…';

/** Nearly all answers have neither, so that these forms need not be looked for. */
const MAY_HAVE_DIGEST = /[\w+/-]{43}/;
const MAY_BE_ENCODED = '%';

/**
 * The answer without what the platform repeats of the people whose conversions it got. What is stored of an answer is in events,
 * which are published and never erased.
 */
export function hidePersonal(
  response: PlatformResponse,
  people: readonly (ConversionPersonal | null | undefined)[],
): PlatformResponse {
  const answer = unescaped(response.text);
  const hidden = people.flatMap((personal) => (personal ? textsOf(personal, answer) : []));
  const text = hide(answer, hidden);
  if (text === answer) return response;
  return { ...response, text, json: mapTexts(response.json, (part) => hide(part, hidden)) };
}

/** In lower case, in the forms in which platforms get them and an answer can have them. */
function textsOf(personal: ConversionPersonal, answer: string): readonly string[] {
  const { texts, digests } = valuesOf(personal);
  if (!(MAY_HAVE_DIGEST.test(answer) || answer.includes(MAY_BE_ENCODED))) return texts;
  return [
    ...texts,
    ...texts.map((text) => encodeURIComponent(text).toLowerCase()),
    ...digests.flatMap((hex) => {
      const digest = Buffer.from(hex, 'hex');
      return [hex, digest.toString('base64').toLowerCase(), digest.toString('base64url').toLowerCase()];
    }),
  ];
}

interface Values {
  readonly texts: string[];
  readonly digests: string[];
}

/** The platforms of a conversion answer one after the other. */
const known = new WeakMap<ConversionPersonal, Values>();

function valuesOf(personal: ConversionPersonal): Values {
  let values = known.get(personal);
  if (!values) {
    values = { texts: [], digests: [] };
    addValues(personal, values);
    known.set(personal, values);
  }
  return values;
}

function addValues(value: unknown, values: Values): void {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) addValues(part, values);
  if (typeof value !== 'string' || value.length < LENGTH_MIN) return;
  if (DIGEST.test(value)) {
    values.digests.push(value);
    return;
  }
  const text = value.toLowerCase();
  values.texts.push(text);
  const bare = text.replace(NEITHER_LETTER_NOR_DIGIT, '');
  if (bare.length >= LENGTH_MIN && bare.length < text.length) values.texts.push(bare);
}

function hide(text: string, hidden: readonly string[]): string {
  let rest = text;
  let lower = rest.toLowerCase();
  for (const part of hidden) {
    // The search is much faster than the expression, and nearly always in vain.
    if (!lower.includes(part)) continue;
    rest = rest.replace(expressionOf(part), HIDDEN);
    lower = rest.toLowerCase();
  }
  return rest;
}

function expressionOf(text: string): RegExp {
  const escaped = text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return new RegExp(text.length >= JOINED_MIN ? escaped : `(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, 'giu');
}

/** Slashes and characters beyond ASCII, which some encoders of JSON escape. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text
    .replace(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll('\\/', '/');
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((part) => mapTexts(part, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, mapTexts(part, change)]));
}
