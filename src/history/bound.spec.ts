import { parseBound } from './bound.js';

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
