/**
 * Currencies whose smallest unit is not a hundredth, by ISO 4217. `Intl` is no help: it has the decimals people write,
 * and would round 1234.56 HUF to 1235.
 */
const DECIMALS: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
]);

/** As platforms want it that take amounts as text: with the decimals of its currency (129.90 EUR, 1000 JPY, 1.500 KWD). */
export function amountText(value: number, currency: string): string {
  return value.toFixed(DECIMALS.get(currency) ?? 2);
}
