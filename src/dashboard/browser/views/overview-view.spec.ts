import {
  acceptanceText,
  changeOf,
  groupingOf,
  type PlatformRow,
  periodsOf,
  platformRows,
  pointsOf,
  sourceRows,
  sumTotals,
  valuesOf,
  valuesText,
} from './overview-view.js';

const NOW = Date.parse('2026-11-16T12:34:56.000Z');
const HOUR_MS = 3_600_000;

describe('the overview', () => {
  it('begins with a whole hour, and compares with the same hours before', () => {
    expect(periodsOf('1', NOW)).toEqual({
      days: 1,
      now: { from: '2026-11-15T13:00:00.000Z', to: '2026-11-16T12:34:56.000Z', interval: 'hour' },
      before: { from: '2026-11-14T13:00:00.000Z', to: '2026-11-15T12:30:00.000Z', interval: 'hour' },
    });
    expect(Date.parse(periodsOf('7', NOW).now.to) - Date.parse(periodsOf('7', NOW).now.from)).toBeLessThan(
      7 * 24 * HOUR_MS,
    );
  });

  it('compares with quarters of an hour that do not overlap with the period', () => {
    for (const minutes of [0, 7, 8, 52, 53, 59]) {
      const { now, before } = periodsOf('1', Date.parse('2026-11-16T12:00:00Z') + minutes * 60_000);
      expect(Date.parse(before.to) % 900_000).toBe(0);
      expect(before.to <= now.from).toBe(true);
    }
  });

  it('begins with a whole day if it is shown by the day', () => {
    const { now, before } = periodsOf('30', NOW);
    const from = new Date(now.from);
    expect([from.getHours(), from.getMinutes(), now.interval]).toEqual([0, 0, 'day']);
    expect(new Date(before.from).getHours()).toBe(0);
    expect(Math.round((Date.parse(now.from) - Date.parse(before.from)) / HOUR_MS / 24)).toBe(30);
  });

  it('shows seven days if the address has another number', () => {
    for (const days of [undefined, '', '5000', '-1', 'x']) expect(periodsOf(days, NOW).days).toBe(7);
  });

  it('says by how much a number changed, unless there is nothing to compare with', () => {
    expect(changeOf(110, 100)).toMatchObject({ direction: 'up' });
    expect(changeOf(90, 100)).toMatchObject({ direction: 'down' });
    expect(changeOf(100, 100)).toMatchObject({ direction: 'same' });
    expect(changeOf(100, 0)).toBeUndefined();
    expect(pointsOf(0.7, 0.711)).toMatchObject({ direction: 'down', text: expect.stringMatching(/^1.1 pt$/) });
    expect(pointsOf(null, 0.5)).toBeUndefined();
  });

  it('adds the outcomes of a platform, and lists connected platforms without any', () => {
    const counts = { delivered: 0, accepted: 0, confirmed: 0, rejected: 0, failed: 0, skipped: 0, acceptance: null };
    const buckets = [
      { platforms: { meta: { ...counts, delivered: 2, failed: 1 } } },
      { platforms: { meta: { ...counts, accepted: 1 }, tiktok: { ...counts, skipped: 4 } } },
    ];
    const waiting = [{ platform: 'meta', queued: 4, unconfirmed: 2 }];
    expect(platformRows({ buckets } as never, ['x', 'meta'], waiting)).toMatchObject([
      { platform: 'x', accepted: 0, queued: 0, acceptance: null },
      { platform: 'meta', accepted: 3, failed: 1, queued: 4, unconfirmed: 2, acceptance: 0.75 },
      { platform: 'tiktok', accepted: 0, skipped: 4, acceptance: null },
    ]);
  });

  const euros = (conversions: number) => ({ conversions, values: [{ currency: 'EUR', conversions, value: 10 }] });
  const item = { source: 'google', medium: 'cpc', campaign: null, click: null };
  const sources = (items: readonly object[], unknown = 0) =>
    ({ items, other: { conversions: 0, values: [] }, notMatched: euros(2), unknown }) as never;

  it('lists sources, and what has none at the end, so that all conversions are in it', () => {
    const none = { ...item, source: null, medium: null, ...euros(1) };
    const rows = sourceRows(sources([{ ...item, ...euros(3) }, none], 4), 'source');
    expect(rows.map(({ title, conversions, isKnown }) => [title, conversions, isKnown])).toEqual([
      ['google / cpc', 3, true],
      ['(no source)', 1, true],
      ['(not matched)', 2, false],
      ['(erased or expired)', 4, false],
    ]);
    expect(rows[0]?.value).toMatchObject({ currency: 'EUR', value: 10 });
  });

  it('groups by campaign and by kind of click', () => {
    expect(['click', 'campaign', 'other', undefined].map(groupingOf)).toEqual([
      'click',
      'campaign',
      'source',
      'source',
    ]);
    const campaign = sourceRows(sources([{ ...item, campaign: 'spring', ...euros(1) }]), 'campaign');
    expect(campaign[0]?.title).toBe('spring · google / cpc');
    const clicks = [
      { ...item, click: 'gclid', ...euros(1) },
      { ...item, click: null, ...euros(1) },
    ];
    expect(
      sourceRows(sources(clicks), 'click')
        .slice(0, 2)
        .map(({ title }) => title),
    ).toEqual(['Google Ads (gclid)', '(no ad click)']);
  });

  it('adds up sites, each currency on its own', () => {
    const site = (conversions: number, currency: string) => ({
      ...{ conversions, matched: conversions, botTrafficRemoved: 1, filtered: 1, duplicates: 1, changedDuplicates: 0 },
      ...{ refused: 0, authenticationFailures: 2, values: [{ currency, conversions, value: 10 }] },
    });
    const sum = sumTotals([site(1, 'EUR'), site(2, 'USD'), site(3, 'EUR')] as never);
    expect(sum).toMatchObject({ conversions: 6, matchRate: 1, authenticationFailures: 6 });
    expect(valuesOf(sum.values)).toEqual({
      main: { currency: 'EUR', conversions: 4, value: 20 },
      others: [{ currency: 'USD', conversions: 2, value: 10 }],
    });
    const part = (value: number) => ({ ...site(1, 'EUR'), values: [{ currency: 'EUR', conversions: 1, value }] });
    expect(sumTotals([part(0.1), part(0.2)] as never).values[0]?.value).toBe(0.3);
    const value = (currency: string) => ({ currency, conversions: 1, value: 10 });
    expect(valuesText([value('EUR')])).not.toContain('+');
    expect(valuesText([value('EUR'), value('USD'), value('GBP'), value('SEK')])).toMatch(/ \+ 2 more currencies$/);
    expect(sumTotals([])).toMatchObject({ conversions: 0, matchRate: null });
  });
});

describe('what a platform accepted', () => {
  const row = (more: Partial<PlatformRow>): PlatformRow => ({
    ...{ platform: 'x', accepted: 0, rejected: 0, failed: 0, skipped: 0, queued: 0, unconfirmed: 0, acceptance: null },
    ...more,
  });

  it('is a share once it has reported on most', () => {
    expect(acceptanceText(row({}))).toBe('nothing sent');
    expect(acceptanceText(row({ accepted: 99, failed: 1, acceptance: 0.99, unconfirmed: 100 }))).toBe('99%');
  });

  it('is told in numbers before', () => {
    expect(acceptanceText(row({ failed: 5, rejected: 1, acceptance: 0, unconfirmed: 200 }))).toBe(
      '6 of 206 refused, 200 not confirmed yet',
    );
    expect(acceptanceText(row({ unconfirmed: 3 }))).toBe('3 not confirmed yet');
  });
});
