import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { withQuery } from './navigation.js';
import { periodsOf } from './overview-view.js';

/** The period that the address names, until the time at which the page was opened or refreshed. */
export function usePeriod() {
  const { path, query, route } = useLocation();
  const [openedMs, setOpenedMs] = useState(Date.now);
  return {
    ...periodsOf(query['days'], openedMs),
    /** Changes with what is shown. */
    key: `${query['days']} ${openedMs}`,
    choose: (days: string) => route(withQuery(path, { ...query, days })),
    refresh: () => setOpenedMs(Date.now()),
  };
}

export type ChosenPeriod = ReturnType<typeof usePeriod>;
