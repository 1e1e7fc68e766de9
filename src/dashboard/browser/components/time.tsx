import { formatAge, formatDay, formatTime, formatWhole } from '../format.js';

interface TimeProps {
  time: string;
  as?: 'time' | 'age' | 'day';
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
