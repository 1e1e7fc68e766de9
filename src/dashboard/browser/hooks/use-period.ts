import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { clock } from '../api.js';
import { withQuery } from '../navigation.js';
import { periodsOf } from '../views/overview-view.js';

/** The period that the address names, until now: the time of each request. */
export function usePeriod() {
  const { path, query, route } = useLocation();
  const [version, setVersion] = useState(0);
  const spans = () => periodsOf(query['days'], clock.nowMs());
  const { days, now } = spans();
  return {
    days,
    interval: now.interval,
    spans,
    /** Numbers of an earlier time stay visible until those of this one are there. */
    version,
    choose: (days: string) => route(withQuery(path, { ...query, days })),
    refresh: () => setVersion((before) => before + 1),
  };
}

export type ChosenPeriod = ReturnType<typeof usePeriod>;
