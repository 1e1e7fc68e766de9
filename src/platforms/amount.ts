/** As platforms want it that take amounts as text: with the decimals of its currency (129.90 EUR, 1000 JPY, 1.500 KWD). */
export function amountText(value: number, currency: string): string {
  return value.toFixed(decimalsOf(currency));
}

function decimalsOf(currency: string): number {
  const { maximumFractionDigits } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  return maximumFractionDigits ?? 2;
}
