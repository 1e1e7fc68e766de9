import type { ChosenPeriod } from '../../hooks/use-period.js';
import { PERIODS } from '../../views/overview-view.js';

export function PeriodChoice({ period: { days, choose, refresh } }: { period: ChosenPeriod }) {
  return (
    <>
      <select aria-label="Period" value={String(days)} onChange={(event) => choose(event.currentTarget.value)}>
        {PERIODS.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
      <button type="button" onClick={refresh}>
        Refresh
      </button>
    </>
  );
}
