import type { EventLog } from '../log/event-log.js';
import { dayOfEvent } from './day-of-event.js';

/** Positions from 1 on, by the time from which on they count. */
function logOf(...times: string[]): EventLog {
  const positionBefore = async (time: Date) => times.filter((each) => Date.parse(each) < time.getTime()).length;
  return { positionBefore } as unknown as EventLog;
}

describe('dayOfEvent', () => {
  it('is the UTC day, from its first millisecond to its last', async () => {
    const log = logOf(
      '2026-11-16T23:59:59.999Z',
      '2026-11-17T00:00:00.000Z',
      '2026-11-17T23:59:59.999Z',
      '2026-11-18T00:00:00.000Z',
    );
    expect(await dayOfEvent(log, { position: 1, time: '2026-11-16T23:59:59.999Z' })).toEqual({
      day: '2026-11-16',
      last: 1,
    });
    expect(await dayOfEvent(log, { position: 2, time: '2026-11-17T00:00:00.000Z' })).toEqual({
      day: '2026-11-17',
      last: 3,
    });
  });

  it('is the day on which the clock was set back, for an event of the time before', async () => {
    const log = logOf(
      '2026-11-16T12:00:00.000Z',
      '2026-11-17T08:00:00.000Z',
      '2026-11-17T09:00:00.000Z',
      '2026-11-18T09:00:00.000Z',
    );
    expect(await dayOfEvent(log, { position: 2, time: '2031-01-01T00:00:00.000Z' })).toEqual({
      day: '2026-11-17',
      last: 3,
    });
  });
});
