import { type AlertMessage, linkOf, slackBody, subjectOf, textOf, webhookBody } from './message.js';

const sender = { cell: 'north', dashboardUrl: 'https://admin.example' };
const started: AlertMessage = {
  ...{ id: 'm', type: 'started', alertId: 'a', startedAt: '2026-06-01T12:00:00.000Z' },
  item: {
    kind: 'connection_parked',
    severity: 'error',
    site: 'shop.example',
    platform: 'meta',
    detail: 'Revoked <now>.',
  },
};
const ended: AlertMessage = { ...started, type: 'ended', endedAt: '2026-06-01T13:00:00.000Z' };

describe('a message', () => {
  it('says in one line what it is about', () => {
    expect(subjectOf(started)).toBe('Connection parked: meta at shop.example');
    expect(subjectOf(ended)).toBe('Ended: Connection parked: meta at shop.example');
    expect(subjectOf({ ...started, item: { kind: 'certificate_expiring', severity: 'error', detail: '' } })).toBe(
      'Certificate expires',
    );
    const lagging = { kind: 'projection_lagging', severity: 'warning', subject: 'totals', detail: '' } as const;
    expect(subjectOf({ ...started, item: lagging })).toBe('Projection behind: totals');
  });

  it('leads to the page of the dashboard', () => {
    const link = (item: Partial<AlertMessage['item']>, more = {}) =>
      linkOf({ ...started, ...more, item: { ...started.item, site: undefined, ...item } }, sender);
    expect(link({ site: 'shop.example' })).toBe('https://admin.example/sites/shop.example/overview');
    expect(link({ kind: 'token_expiring' })).toBe('https://admin.example/settings/tokens');
    expect(link({ kind: 'projection_parked' })).toBe('https://admin.example/settings/projections');
    expect(link({ kind: 'certificate_expiring' })).toBe('https://admin.example/settings/health');
    expect(link({ kind: 'alerts_failing' })).toBe('https://admin.example/settings/alerts');
    expect(linkOf(started, { ...sender, dashboardUrl: undefined })).toBeUndefined();
  });

  it('has a text with its times and the cell', () => {
    expect(textOf(started, sender)).toBe(
      'Revoked <now>.\n\nSince 2026-06-01T12:00:00.000Z.\n\nhttps://admin.example/sites/shop.example/overview\n\nCell north.\n',
    );
    expect(textOf(ended, sender)).toContain(
      'It began at 2026-06-01T12:00:00.000Z and ended at 2026-06-01T13:00:00.000Z',
    );
  });

  it('is a body with type, timestamp and data for a webhook', () => {
    expect(JSON.parse(webhookBody(ended, sender))).toEqual({
      type: 'alert.ended',
      timestamp: '2026-06-01T13:00:00.000Z',
      data: {
        ...{ id: 'a', title: 'Ended: Connection parked: meta at shop.example', kind: 'connection_parked' },
        ...{ severity: 'error', site: 'shop.example', platform: 'meta', detail: 'Revoked <now>.', cell: 'north' },
        ...{ startedAt: '2026-06-01T12:00:00.000Z', endedAt: '2026-06-01T13:00:00.000Z' },
        url: 'https://admin.example/sites/shop.example/overview',
      },
    });
  });

  it('is escaped for Slack, where < begins a link or a mention', () => {
    const { text } = JSON.parse(
      slackBody({ ...started, item: { ...started.item, detail: '<!channel> & co' } }, sender),
    );
    expect(text).toContain('&lt;!channel&gt; &amp; co');
    expect(text).toContain('<https://admin.example/sites/shop.example/overview|Open the dashboard>');
  });
});
