import { formatMoney, formatMoneyShort } from '../format.js';

/** A sum, rounded to what matters; pointing at it tells the exact one. */
export function Money({ value, currency }: { value: number; currency: string }) {
  return <span title={formatMoney(value, currency)}>{formatMoneyShort(value, currency)}</span>;
}
