import {
  attentionPath,
  attentionTitle,
  changeOf,
  periodsOf,
  platformRows,
  pointsOf,
  sourceRows,
} from './overview-view.js';

const NOW = Date.parse('2026-11-16T12:00:00.000Z');

describe('the overview', () => {
  it('compares a period with the one before it', () => {
    expect(periodsOf('1', NOW)).toEqual({
      days: 1,
      now: { from: '2026-11-15T12:00:00.000Z', to: '2026-11-16T12:00:00.000Z', interval: 'hour' },
      before: { from: '2026-11-14T12:00:00.000Z', to: '2026-11-15T12:00:00.000Z', interval: 'hour' },
    });
    expect(periodsOf('90', NOW).now.interval).toBe('day');
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
    expect(platformRows({ buckets } as never, ['x', 'meta'])).toEqual([
      { platform: 'x', accepted: 0, rejected: 0, failed: 0, skipped: 0, acceptance: null },
      { platform: 'meta', accepted: 3, rejected: 0, failed: 1, skipped: 0, acceptance: 0.75 },
      { platform: 'tiktok', accepted: 0, rejected: 0, failed: 0, skipped: 4, acceptance: null },
    ]);
  });

  it('lists sources, and what has none at the end', () => {
    const euros = (conversions: number) => ({ conversions, values: [{ currency: 'EUR', conversions, value: 10 }] });
    const item = { source: 'google', medium: 'cpc', campaign: null, click: null };
    const rows = sourceRows({
      items: [
        { ...item, ...euros(3) },
        { ...item, source: null, medium: null, ...euros(1) },
      ],
      other: { conversions: 0, values: [] },
      notMatched: euros(2),
      unknown: 1,
    } as never);
    expect(rows.map(({ title, conversions, isMatched }) => [title, conversions, isMatched])).toEqual([
      ['google / cpc', 3, true],
      ['(no source)', 1, true],
      ['(not matched)', 2, false],
      ['(erased or expired)', 1, false],
    ]);
    expect(rows[0]?.value).toMatchObject({ currency: 'EUR', value: 10 });
  });

  it('leads from what needs attention to the page of the fix', () => {
    const item = { severity: 'error', detail: '', action: { label: '', method: 'GET', route: '' } } as const;
    const of = (more: object) => attentionPath({ ...item, ...more } as never);
    expect(of({ kind: 'connection_parked', site: 'a.example', platform: 'x' })).toBe('/sites/a.example/integrations');
    expect(of({ kind: 'deliveries_failing', site: 'a.example', platform: 'x' })).toBe(
      '/sites/a.example/sync-log?platform=x',
    );
    expect(of({ kind: 'webhook_failing', site: 'a.example' })).toBe('/sites/a.example/webhook');
    expect(of({ kind: 'key_expiring', site: 'a.example', subject: '1' })).toBe('/sites/a.example/keys');
    expect(of({ kind: 'token_expiring', subject: '1' })).toBe('/settings/tokens');
    expect(of({ kind: 'projection_lagging', subject: 'x' })).toBeUndefined();
    expect(attentionTitle({ kind: 'connection_parked' }, 'Meta')).toBe('Meta needs attention');
  });
});
