import { COUNTRIES } from '../../kernel/codes/countries.js';
import { CURRENCIES } from '../../kernel/codes/currencies.js';

type Option = readonly [code: string, title: string];

/** All countries by their names in the viewer's language, in its order. Without a name there is the code. */
export function countryOptions(locale?: string): Option[] {
  return codeOptions('region', COUNTRIES, locale);
}

/** Likewise all currencies. */
export function currencyOptions(locale?: string): Option[] {
  return codeOptions('currency', CURRENCIES, locale);
}

function codeOptions(type: 'region' | 'currency', codes: Iterable<string>, locale: string | undefined): Option[] {
  const names = new Intl.DisplayNames(locale, { type });
  const { compare } = new Intl.Collator(locale);
  return [...codes]
    .map((code) => [code, `${names.of(code) ?? code} (${code})`] as const)
    .sort(([, one], [, other]) => compare(one, other));
}
