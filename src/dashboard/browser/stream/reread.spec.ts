import { rereadAfterMs } from './reread.js';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const of = (status: string, nextTry?: string) => ({ status, attempts: nextTry === undefined ? [] : [{ nextTry }] });
const rereadAfter = (...deliveries: object[]) => rereadAfterMs(deliveries as never, NOW);

describe('a conversion that is shown', () => {
  it('is read again soon while an attempt is due, and now and then before', () => {
    expect(rereadAfter(of('delivered'), of('queued'))).toBe(2_000);
    expect(rereadAfter(of('queued', '2026-11-16T12:00:05Z'))).toBe(2_000);
    expect(rereadAfter(of('queued', '2026-11-16T15:00:00Z'))).toBe(30_000);
    expect(rereadAfter(of('queued', '2026-11-16T15:00:00Z'), of('queued'))).toBe(2_000);
    expect(rereadAfter(of('delivered'), of('failed'))).toBeUndefined();
  });
});
