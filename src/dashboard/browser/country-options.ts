import { COUNTRIES } from '../../kernel/countries.js';

/** All countries by their names in the viewer's language, in its order. Without a name there is the code. */
export function countryOptions(locale?: string): (readonly [code: string, title: string])[] {
  const names = new Intl.DisplayNames(locale, { type: 'region' });
  const { compare } = new Intl.Collator(locale);
  return [...COUNTRIES]
    .map((code) => [code, `${names.of(code) ?? code} (${code})`] as const)
    .sort(([, one], [, other]) => compare(one, other));
}
