import { useCallback, useState } from 'preact/hooks';
import { clock } from '../api.js';
import { formatAge, formatClock, formatDay, formatTime, formatWhole } from '../format.js';
import { useInterval } from '../hooks/use-data.js';

const FORMATS = {
  time: (time: string) => formatTime(time),
  age: (time: string) => <Age time={time} />,
  day: formatDay,
  clock: (time: string) => formatClock(time),
} as const;

interface TimeProps {
  /** Without one: never. */
  time: string | null | undefined;
  as?: keyof typeof FORMATS;
}

/** In the viewer's zone; the title names the zone, and says it in UTC, as the log does. */
export function Time({ time, as = 'time' }: TimeProps) {
  if (!time) return <span class="dim">never</span>;
  return (
    <time dateTime={time} title={formatWhole(time)}>
      {FORMATS[as](time)}
    </time>
  );
}

const AGE_CHANGES_MS = 30_000;

/** How long ago, while the page stays open. */
function Age({ time }: { time: string }) {
  const [nowMs, setNowMs] = useState(() => clock.nowMs());
  useInterval(
    useCallback(() => setNowMs(clock.nowMs()), []),
    AGE_CHANGES_MS,
  );
  return <>{formatAge(time, nowMs)}</>;
}

/** Up to when a number counts everything. */
export function AsOf({ time, of }: { time: string; of?: string }) {
  return (
    <>
      {of !== undefined && `${of}, `}as of <Time time={time} as="clock" />
    </>
  );
}
