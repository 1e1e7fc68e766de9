import { createRequire } from 'node:module';
import { COUNTRIES, readCountry } from '../../../kernel/codes/countries.js';

type Code = [alpha2: string, alpha3: string, ...rest: unknown[]];

const require = createRequire(import.meta.url);

/** Codes and names that people use, and neither ISO nor the lists have. */
const COMMON: Readonly<Record<string, readonly string[]>> = {
  AE: ['الإمارات'],
  AL: ['Shqipëria'],
  BA: ['Bosnia'],
  CN: ['中國'],
  FO: ['Føroyar'],
  GB: [
    ...['UK', 'England', 'Scotland', 'Wales', 'Northern Ireland'],
    ...['Angleterre', 'Inglaterra', 'Gran Bretagna', 'Grossbritannien'],
  ],
  GL: ['Kalaallit Nunaat'],
  GR: ['EL'],
  IE: ['Republic of Ireland'],
  JP: ['日本国'],
  KR: ['Korea', 'Corea del Sur', '한국'],
  LA: ['ລາວ'],
  LK: ['ශ්‍රී ලංකාව'],
  LU: ['Lëtzebuerg'],
  MF: ['St. Martin'],
  MG: ['Madagasikara'],
  MM: ['မြန်မာ'],
  NL: ['Hollande'],
  OM: ['عمان'],
  PH: ['Pilipinas'],
  RE: ['La Réunion'],
  SA: ['KSA', 'المملكة العربية السعودية'],
  TH: ['ประเทศไทย'],
  TL: ['East Timor'],
  TW: ['台灣'],
  US: ['America', 'États-Unis'],
  VA: ['Vatican City'],
  XK: ['XKX'],
};
const COMMON_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(COMMON).flatMap(([code, names]) => names.map((name) => [lettersOf(name), code])),
);
const LENGTH_MAX = 100;

let codes: ReadonlyMap<string, string> | undefined;
/** The lists of names that were read, English first; of a name that a list has twice the code is null. */
const lists: ReadonlyMap<string, string | null>[] = [];

/** The alpha-2 code of a code or name: alpha-3, names in English and the languages of the lists, and common forms. */
export function readCountryName(text: string): string | undefined {
  const code = readCountry(text);
  if (code !== undefined || text.length > LENGTH_MAX) return code;
  const letters = lettersOf(text);
  if (letters === '') return undefined;
  // Loaded on first use: most senders send codes.
  codes ??= new Map(
    (require('i18n-iso-countries/codes.json') as Code[]).map(([two, three]) => [lettersOf(three), two]),
  );
  return readCountry(letters) ?? COMMON_NAMES.get(letters) ?? codes.get(letters) ?? codeOfName(letters);
}

/** The lists are read one after the other, until one has the name: all of them take a quarter of a second. */
function codeOfName(letters: string): string | undefined {
  const languages = languagesInOrder();
  for (let index = 0; index < languages.length; index += 1) {
    lists[index] ??= readList(languages[index] as string);
    const code = (lists[index] as ReadonlyMap<string, string | null>).get(letters);
    if (code !== undefined) return code ?? undefined;
  }
  return undefined;
}

let languages: readonly string[] | undefined;

function languagesInOrder(): readonly string[] {
  if (!languages) {
    const all = require('i18n-iso-countries/supportedLocales.json') as string[];
    const first = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pl', 'pt', 'ja'];
    languages = [...first, ...all.filter((language) => !first.includes(language))];
  }
  return languages;
}

function readList(language: string): ReadonlyMap<string, string | null> {
  const { countries } = require(`i18n-iso-countries/langs/${language}.json`) as {
    readonly countries: Readonly<Record<string, string | readonly string[]>>;
  };
  const list = new Map<string, string | null>();
  for (const [code, names] of Object.entries(countries)) {
    if (!COUNTRIES.has(code)) continue;
    for (const name of typeof names === 'string' ? [names] : names) {
      const letters = lettersOf(name);
      list.set(letters, (list.get(letters) ?? code) === code ? code : null);
    }
  }
  return list;
}

/** In lower case, without spaces, punctuation and accents, and `&` as the English word. */
function lettersOf(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('&', 'and')
    .replace(/[\u0300-\u036f]|[^\p{L}\p{M}]/gu, '');
}
