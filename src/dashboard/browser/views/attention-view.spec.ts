import {
  type AttentionItem,
  attentionAction,
  attentionDetail,
  attentionOf,
  attentionTitle,
  badgesOf,
  connectionHealth,
  itemsAt,
  tabTitle,
  totalOf,
} from './attention-view.js';

const of = (more: object) =>
  ({
    severity: 'error',
    detail: '',
    action: { label: '', method: 'GET', route: '' },
    site: 'a.example',
    ...more,
  }) as never;
const actionOf = (more: object, mayWrite = true, mayOperateAll = mayWrite) =>
  attentionAction(of(more), { mayWrite, mayOperateAll });

describe('what needs attention', () => {
  it('is named in words, with what it affects', () => {
    expect(attentionTitle({ kind: 'connection_parked', platform: 'meta', severity: 'error' })).toBe(
      'Meta needs attention',
    );
    const detail = 'Create a new access token. "platforms connect meta" changes it.';
    expect(attentionDetail({ kind: 'connection_parked', detail, count: 84 })).toBe(
      'Create a new access token. · 84 conversions are waiting, none lost',
    );
    expect(attentionDetail({ kind: 'connection_paused', detail: 'Paused.', count: 1 })).toContain('1 conversion is');
    expect(attentionDetail({ kind: 'connection_paused', detail: 'Paused.', count: 10_000 })).toContain('more than');
    expect(attentionDetail({ kind: 'webhook_disabled', detail: 'HTTP 410', count: 0 })).toBe('HTTP 410');
    expect(attentionDetail({ kind: 'consent_choice', detail: 'Choose.', count: 7 })).toBe(
      'Choose. · 7 statements in 30 days',
    );
    expect(attentionDetail({ kind: 'consent_unknown', detail: 'Send it.', count: 1 })).toContain(
      '1 conversion refused',
    );
  });

  it('names how many events go nowhere', () => {
    const titleOf = (count: number) =>
      attentionTitle({ kind: 'events_unmapped', platform: 'google_ads', severity: 'warning', count });
    expect([titleOf(1), titleOf(2)]).toEqual([
      '1 event goes nowhere at Google Ads',
      '2 events go nowhere at Google Ads',
    ]);
    expect(attentionDetail({ kind: 'deliveries_expired', detail: 'Too old.', count: 3 })).toBe(
      'Too old. · 3 conversions not sent',
    );
  });

  it('says whether something expires or has expired', () => {
    const titleOf = (severity: 'error' | 'warning') =>
      attentionTitle({ kind: 'connection_expiring', platform: 'meta', severity });
    expect(titleOf('warning')).toBe('The sign-in at Meta expires');
    expect(titleOf('error')).toBe('The sign-in at Meta has expired');
  });

  it('has a button that solves it at once, where a request does', () => {
    expect(actionOf({ kind: 'connection_paused', platform: 'x' })).toEqual({
      ...{ kind: 'resume', label: 'Resume', site: 'a.example', connection: 'x' },
    });
    expect(actionOf({ kind: 'webhook_disabled' })).toMatchObject({ kind: 'enable' });
    expect(actionOf({ kind: 'webhook_failing' })).toMatchObject({ kind: 'test' });
  });

  it('leads to the page of the fix where no request solves it', () => {
    const pathOf = (more: object, mayWrite?: boolean) => {
      const action = actionOf(more, mayWrite);
      return action?.kind === 'open' ? action.path : undefined;
    };
    expect(pathOf({ kind: 'connection_parked', platform: 'x' })).toBe('/sites/a.example/integrations?connection=x');
    expect(actionOf({ kind: 'connection_expiring', platform: 'meta' })).toMatchObject({
      ...{ label: 'Reconnect', path: '/sites/a.example/integrations?connection=meta' },
    });
    expect(pathOf({ kind: 'connection_paused', platform: 'x' }, false)).toBe(
      '/sites/a.example/integrations?connection=x',
    );
    expect(pathOf({ kind: 'deliveries_failing', platform: 'x' })).toBe('/sites/a.example/sync-log?platform=x');
    expect(pathOf({ kind: 'consent_unknown', platform: 'x' })).toBe('/sites/a.example/sync-log?platform=x');
    expect(pathOf({ kind: 'deliveries_expired', platform: 'x' })).toBe('/sites/a.example/sync-log?platform=x');
    expect(actionOf({ kind: 'events_unmapped', platform: 'x' })).toMatchObject({
      ...{ label: 'Map', path: '/sites/a.example/mapping?platform=x' },
    });
    expect(pathOf({ kind: 'consent_choice' })).toBe('/sites/a.example/consent');
    expect(pathOf({ kind: 'no_conversions' })).toBe('/sites/a.example/sync-log');
    expect(pathOf({ kind: 'match_rate_down' })).toBe('/sites/a.example/tag');
    expect(pathOf({ kind: 'webhook_failing' }, false)).toBe('/sites/a.example/webhook');
    expect(pathOf({ kind: 'site_paused' })).toBe('/sites/a.example/site');
    expect(pathOf({ kind: 'site_elsewhere' })).toBe('/sites/a.example/site');
    expect(pathOf({ kind: 'key_expiring', subject: '1' })).toBe('/sites/a.example/keys');
    expect(pathOf({ kind: 'token_expiring', site: undefined })).toBe('/settings/tokens');
    expect(pathOf({ kind: 'projection_lagging', site: undefined })).toBe('/settings/projections');
    expect(pathOf({ kind: 'deliveries_owed', platform: 'x' })).toBe('/settings/health');
  });

  it('leads to the page of the site where the viewer may not open that of the service', () => {
    expect(actionOf({ kind: 'deliveries_owed', platform: 'x' }, true, false)).toMatchObject({
      path: '/sites/a.example/sync-log?platform=x',
    });
    expect(actionOf({ kind: 'projection_lagging', site: undefined }, true, false)).toBeUndefined();
  });
});

describe('health', () => {
  const item = (kind: AttentionItem['kind'], severity: AttentionItem['severity'], more = {}): AttentionItem =>
    of({ kind, severity, ...more });
  const unmapped = item('events_unmapped', 'warning', { platform: 'meta' });
  const late = item('deliveries_owed', 'error', { platform: 'meta' });

  it('is counted at the page that it concerns, as bad as the worst there', () => {
    expect(badgesOf([])).toEqual({});
    expect(
      badgesOf([
        late,
        item('connection_paused', 'warning'),
        unmapped,
        item('webhook_failing', 'warning'),
        item('site_paused', 'warning'),
        item('consent_choice', 'warning'),
        item('key_expiring', 'warning'),
        item('projection_parked', 'error', { site: undefined }),
      ]),
    ).toEqual({
      integrations: { count: 2, tone: 'bad' },
      mapping: { count: 1, tone: 'warn' },
      webhook: { count: 1, tone: 'warn' },
      site: { count: 1, tone: 'warn' },
      consent: { count: 1, tone: 'warn' },
      keys: { count: 1, tone: 'warn' },
      settings: { count: 1, tone: 'bad' },
    });
    expect([totalOf([]), totalOf([unmapped]), totalOf([unmapped, late])]).toEqual([
      undefined,
      { count: 1, tone: 'warn' },
      { count: 2, tone: 'bad' },
    ]);
  });

  it('is in the title of the tab', () => {
    expect([tabTitle('Overview', []), tabTitle('Overview', [late, unmapped])]).toEqual([
      'Overview · Clean Conversions',
      '(2) Overview · Clean Conversions',
    ]);
  });

  it('is that of the open site and of the service', () => {
    const other = item('webhook_failing', 'warning', { site: 'b.example' });
    const service = item('projection_parked', 'error', { site: undefined });
    expect(attentionOf([late, other, service], 'a.example')).toEqual([late, service]);
    expect(itemsAt([late, other, unmapped], 'a.example', 'meta')).toEqual([late, unmapped]);
  });

  it('of a connection is the worst of its state and its items', () => {
    const active = { connected: true, state: 'active' } as const;
    const paused = { connected: true, state: 'paused' } as const;
    expect(connectionHealth(active, [])).toEqual(['ok', 'Connected']);
    expect(connectionHealth(active, [late, unmapped])).toEqual(['bad', 'Late']);
    expect(connectionHealth(active, [unmapped])).toEqual(['warn', 'Events unmapped']);
    expect(connectionHealth({ connected: true, state: 'parked' }, [unmapped])).toEqual(['bad', 'Needs attention']);
    expect(connectionHealth(paused, [item('connection_paused', 'warning')])).toEqual(['warn', 'Paused']);
    expect(connectionHealth({ connected: false }, [])).toEqual(['plain', 'Not connected']);
  });
});
