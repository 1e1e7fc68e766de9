import { attentionAction, attentionDetail, attentionTitle } from './attention-view.js';

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
    expect(pathOf({ kind: 'consent_choice' })).toBe('/sites/a.example/consent');
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
