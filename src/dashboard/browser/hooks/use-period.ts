import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { clock } from '../api.js';
import { withQuery } from '../navigation.js';
import { periodsOf } from '../views/overview-view.js';

/** The period that the address names, until the time at which the page was opened or refreshed. */
export function usePeriod() {
  const { path, query, route } = useLocation();
  const [openedMs, setOpenedMs] = useState(() => clock.nowMs());
  return {
    ...periodsOf(query['days'], openedMs),
    /** Numbers of an earlier time stay visible until those of this one are there. */
    openedMs,
    choose: (days: string) => route(withQuery(path, { ...query, days })),
    refresh: () => setOpenedMs(clock.nowMs()),
  };
}

export type ChosenPeriod = ReturnType<typeof usePeriod>;
