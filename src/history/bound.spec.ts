import type { EventLog } from '../log/event-log.js';
import { type Bound, parseBound, positionRangeOf } from './bound.js';

describe('parseBound', () => {
  it('parses a position', () => {
    expect(parseBound('1017')).toEqual({ position: 1017 });
  });

  it.each([
    ['2025-03-01', '2025-03-01T00:00:00.000Z'],
    ['2025-03-01T09:30', '2025-03-01T09:30:00.000Z'],
    ['2025-03-01T09:30:05.125Z', '2025-03-01T09:30:05.125Z'],
    ['2025-03-01T09:30:00+02:00', '2025-03-01T07:30:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ])('parses the time %s as %s', (text, time) => {
    expect(parseBound(text)).toEqual({ time: new Date(time) });
  });

  it.each(['', 'now', '-5', '1.5', '1 March 2025', '2025-02-29', '2025-13-01', '2025-03-01T25:00'])(
    'rejects "%s"',
    (text) => {
      expect(parseBound(text)).toBeUndefined();
    },
  );
});

describe('positionRangeOf', () => {
  /** 100 events, one a second from 2025-03-01 on. */
  const log = {
    head: async () => 100,
    positionBefore: async (time: Date) =>
      Math.min(100, Math.max(0, Math.ceil((time.getTime() - Date.parse('2025-03-01')) / 1_000))),
  } as unknown as EventLog;
  const rangeOf = (from: string, to: string) =>
    positionRangeOf(log, { from: parseBound(from) as Bound, to: parseBound(to) as Bound });

  it.each([
    ['10', '20', { after: 9, until: 19 }],
    ['10', '10', { after: 9, until: 9 }],
    ['10', '5000', { after: 9, until: 100 }],
    ['2025-03-01', '2025-03-02', { after: 0, until: 100 }],
    ['5', '2025-03-01T00:00:09Z', { after: 4, until: 9 }],
    ['2030-01-01', '2031-01-01', { after: 100, until: 100 }],
  ])('has the positions from %s to %s', async (from, to, range) => {
    expect(await rangeOf(from, to)).toEqual(range);
  });

  it.each([
    ['20', '10'],
    ['2025-03-02', '2025-03-01'],
    ['2031-01-01', '2030-01-01'],
    ['50', '2025-03-01T00:00:09Z'],
  ])('refuses a start %s after the end %s', async (from, to) => {
    await expect(rangeOf(from, to)).rejects.toThrow('The start of the range is after its end.');
  });
});
