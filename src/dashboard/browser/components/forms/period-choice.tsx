import type { ChosenPeriod } from '../../hooks/use-period.js';
import { PERIODS } from '../../views/overview-view.js';
import { Button } from '../basics.js';
import { Choice } from './fields.js';

export function PeriodChoice({ period: { days, choose, refresh } }: { period: ChosenPeriod }) {
  return (
    <>
      <Choice label="Period" value={String(days)} options={PERIODS} onValue={choose} />
      <Button label="Refresh" onClick={refresh} />
    </>
  );
}
