import { formatAge, formatClock, formatDay, formatTime, formatWhole } from '../format.js';

const FORMATS = {
  time: (time: string) => formatTime(time),
  age: (time: string) => formatAge(time, Date.now()),
  day: formatDay,
  clock: (time: string) => formatClock(time),
} as const;

interface TimeProps {
  time: string;
  as?: keyof typeof FORMATS;
}

/** In the viewer's zone; the title names the zone, and says it in UTC, as the log does. */
export function Time({ time, as = 'time' }: TimeProps) {
  return (
    <time dateTime={time} title={formatWhole(time)}>
      {FORMATS[as](time)}
    </time>
  );
}

/** Up to when a number counts everything. */
export function AsOf({ time, of }: { time: string; of?: string }) {
  return (
    <>
      {of !== undefined && `${of}, `}as of <Time time={time} as="clock" />
    </>
  );
}
