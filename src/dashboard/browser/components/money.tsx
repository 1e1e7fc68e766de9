import { formatMoney, formatMoneyShort } from '../format.js';

/** A sum, rounded to what matters. Pointing at it tells the exact one, and so does a screen reader. */
export function Money({ value, currency }: { value: number; currency: string }) {
  const [exact, short] = [formatMoney(value, currency), formatMoneyShort(value, currency)];
  if (exact === short) return <>{exact}</>;
  return (
    <span title={exact}>
      <span aria-hidden="true">{short}</span>
      <span class="hidden">{exact}</span>
    </span>
  );
}
