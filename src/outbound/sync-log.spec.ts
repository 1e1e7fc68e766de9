import type { EventLog } from '../log/event-log.js';
import type { ReadOptions } from '../log/event-reader.js';
import { readNewestSyncLines } from './sync-log.js';

const SITE = 'shop.example';
/** 1,200 attempts; every fourth failed. */
const EVENTS = Array.from({ length: 1_200 }, (_, at) => {
  const status = at % 4 === 0 ? 'failed' : 'delivered';
  const data = { conversionId: `c-${at + 1}`, platform: 'meta', attempt: 1, status, durationMs: 1 };
  return { position: at + 1, type: `conversion.${status}.v1`, time: '2026-03-01T00:00:00.000Z', data };
});
const log = {
  read: async ({ after = 0, until = 0, limit = 0 }: ReadOptions) =>
    EVENTS.filter(({ position }) => position > after && position <= until).slice(-limit),
} as unknown as EventLog;

describe('readNewestSyncLines', () => {
  const range = { site: SITE, after: 0, until: 1_200 };
  const idsOf = async (filter: object, count: number) =>
    (await readNewestSyncLines(log, { ...range, ...filter }, count)).map(({ conversionId }) => conversionId);

  it('returns the newest, newest first', async () => {
    expect(await idsOf({}, 3)).toEqual(['c-1200', 'c-1199', 'c-1198']);
  });

  it('reads back until so many match', async () => {
    const failed = await idsOf({ status: 'failed' }, 200);
    expect([failed.length, failed[0], failed.at(-1)]).toEqual([200, 'c-1197', 'c-401']);
    expect(await idsOf({ status: 'failed' }, 1_000)).toHaveLength(300);
    expect(await idsOf({ platform: 'tiktok' }, 5)).toEqual([]);
    expect(await idsOf({ after: 1_190, until: 1_192 }, 5)).toEqual(['c-1192', 'c-1191']);
  });
});
