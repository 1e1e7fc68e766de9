import { formatAge, formatClock, formatDay, formatTime, formatWhole } from '../format.js';

interface TimeProps {
  time: string;
  as?: 'time' | 'clock' | 'age' | 'day';
}

const FORMATS = { time: formatTime, clock: formatClock, day: formatDay } as const;

/** In the viewer's zone; the title names the zone, and says it in UTC, as the log does. */
export function Time({ time, as = 'time' }: TimeProps) {
  const text = as === 'age' ? formatAge(time, Date.now()) : FORMATS[as](time);
  return (
    <time dateTime={time} title={formatWhole(time)}>
      {text}
    </time>
  );
}
