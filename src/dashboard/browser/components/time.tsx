import { formatAge, formatDay, formatTime, formatWhole } from '../format.js';

interface TimeProps {
  time: string;
  as?: 'time' | 'age' | 'day' | 'clock';
}

/** In the viewer's zone; the title names the zone, and says it in UTC, as the log does. */
export function Time({ time, as = 'time' }: TimeProps) {
  const text = as === 'age' ? formatAge(time, Date.now()) : as === 'day' ? formatDay(time) : formatTime(time);
  return (
    <time dateTime={time} title={formatWhole(time)}>
      {text}
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
