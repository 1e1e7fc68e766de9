import { matchRateItems, type Silence, silenceItems } from './conversion-items.js';
import { DEFAULT_RULES } from './rules.js';

const HOUR_MS = 60 * 60 * 1_000;
const NOW_MS = Date.parse('2026-06-01T12:00:00.000Z');
const site = { host: 'shop.example', inbound: true, createdAt: '2026-01-01T00:00:00.000Z' };
const silence = (usual: number[], hours = 3): Silence => ({
  ...{ sinceMs: NOW_MS - hours * HOUR_MS, untilMs: NOW_MS },
  usual,
});

describe('silenceItems', () => {
  it('reports a site that is silent for ten times its usual gap at these hours', () => {
    expect(silenceItems(site, silence([20, 31, 10, 15]), DEFAULT_RULES)).toEqual([
      {
        ...{ kind: 'no_conversions', severity: 'error', count: 10 },
        time: '2026-06-01T09:00:00.000Z',
        detail: 'No conversion for 3 hours. In the same hours of earlier weeks there were at least 10.',
        action: { label: 'Show the sync log', method: 'GET', route: '/sites/shop.example/sync-log' },
      },
    ]);
    expect(silenceItems(site, silence([20, 20], 0.5), DEFAULT_RULES)[0]?.detail).toContain('less than an hour');
  });

  it('is quiet when one of the weeks was, as at night, at weekends and in a small shop', () => {
    expect(silenceItems(site, silence([200, 200, 9, 200]), DEFAULT_RULES)).toEqual([]);
    expect(silenceItems(site, silence([200, 200, 9, 200]), { ...DEFAULT_RULES, silentGaps: 9 })).toHaveLength(1);
    expect(silenceItems(site, undefined, DEFAULT_RULES)).toEqual([]);
  });

  it('expects nothing of a site of which it knows less than two weeks, and counts no week before it was added', () => {
    const addedDays = (days: number) => ({
      ...site,
      createdAt: new Date(NOW_MS - 4 * HOUR_MS - days * 24 * HOUR_MS).toISOString(),
    });
    expect(silenceItems(addedDays(13), silence([50, 50, 0, 0]), DEFAULT_RULES)).toEqual([]);
    expect(silenceItems(addedDays(14), silence([50, 50, 0, 0]), DEFAULT_RULES)).toHaveLength(1);
  });

  it('expects nothing while inbound is off', () => {
    expect(silenceItems({ ...site, inbound: false }, silence([50, 50, 50, 50]), DEFAULT_RULES)).toEqual([]);
  });
});

describe('matchRateItems', () => {
  const of = (recent: number, conversions = 200, usual = 2_000, rules = DEFAULT_RULES) =>
    matchRateItems(
      'shop.example',
      { recent: { conversions, matched: recent }, usual: { conversions: usual, matched: usual * 0.6 } },
      rules,
    );

  it('reports a share that is lower than usual by 30 % of it', () => {
    expect(of(82)).toMatchObject([
      {
        ...{ kind: 'match_rate_down', severity: 'warning', count: 200 },
        detail: expect.stringContaining('41 % were matched to a visit, of those of the four weeks before 60 %'),
      },
    ]);
    expect(of(84)).toEqual([]);
    expect(of(84, 200, 2_000, { ...DEFAULT_RULES, matchRateDropPercent: 20 })).toHaveLength(1);
  });

  it('says nothing of few conversions, nor of what varies by itself', () => {
    expect(of(0, 99)).toEqual([]);
    expect(of(0, 200, 499)).toEqual([]);
    expect(of(0, 0)).toEqual([]);
    const rules = { ...DEFAULT_RULES, matchRateDropPercent: 5 };
    expect(of(50, 100, 2_000, rules)).toEqual([]);
    expect(of(45, 100, 2_000, rules)).toHaveLength(1);
    expect(matchRateItems('shop.example', undefined, DEFAULT_RULES)).toEqual([]);
  });
});
