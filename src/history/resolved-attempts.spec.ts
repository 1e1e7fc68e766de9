import type { StoredEvent } from '../log/event.js';
import { resolutionOf, withResolutions } from './resolved-attempts.js';

const outcome = (position: number, status: string, platform = 'meta', conversionId = 'c1') =>
  ({
    ...{ position, type: `conversion.${status}.v1`, time: `2026-01-01T00:00:0${position}.000Z` },
    data: { conversionId, platform, status, attempt: position },
  }) as unknown as StoredEvent;
const line = (position: number, status: string, platform = 'meta') => ({
  ...{ position, status, platform, time: '', kind: 'delivery' as const, conversionId: 'c1', attempt: 1, durationMs: 0 },
});

describe('resolutionOf', () => {
  it('is the later attempt that the platform accepted', () => {
    const events = [outcome(1, 'failed'), outcome(2, 'deferred'), outcome(3, 'delivered')];
    expect(resolutionOf(line(1, 'failed'), events)).toEqual({ time: '2026-01-01T00:00:03.000Z', status: 'delivered' });
    expect(resolutionOf(line(2, 'deferred'), events.reverse())?.status).toBe('delivered');
  });

  it('is none if the newest attempt did not succeed, or is another delivery', () => {
    expect(resolutionOf(line(1, 'failed'), [outcome(1, 'failed')])).toBeUndefined();
    expect(resolutionOf(line(1, 'accepted'), [outcome(1, 'accepted'), outcome(2, 'delivered')])).toBeUndefined();
    const rejected = [outcome(1, 'failed'), outcome(2, 'accepted'), outcome(3, 'rejected')];
    expect(resolutionOf(line(1, 'failed'), rejected)).toBeUndefined();
    for (const other of [outcome(2, 'delivered', 'tiktok'), outcome(2, 'delivered', 'meta', 'c2')])
      expect(resolutionOf(line(1, 'failed'), [outcome(1, 'failed'), other])).toBeUndefined();
  });

  it('is read for attempts that did not succeed only', async () => {
    const asked: string[][] = [];
    const readStreams = async (_: string, ids: readonly string[]) => {
      asked.push([...ids]);
      return [outcome(1, 'skipped'), outcome(2, 'delivered')];
    };
    const log = { readStreams } as never;
    expect(await withResolutions(log, [line(2, 'delivered')])).toEqual([line(2, 'delivered')]);
    const [first, second] = await withResolutions(log, [line(1, 'skipped'), line(2, 'delivered')]);
    expect([first?.resolved?.status, second?.resolved]).toEqual(['delivered', undefined]);
    expect(asked).toEqual([['c1']]);
  });
});
