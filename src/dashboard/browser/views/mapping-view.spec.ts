import { eventRows, isEdited, mappingChanges, mappingRows } from './mapping-view.js';

const SETTINGS = { pixel_id: '1', 'event.purchase': 'Purchase', 'field.plan': 'source', access_token: true as const };

describe('a mapping', () => {
  it('is read from the settings of the connection', () => {
    expect(mappingRows(SETTINGS)).toEqual([
      { kind: 'event', name: 'purchase', value: 'Purchase' },
      { kind: 'field', name: 'plan', value: 'source' },
    ]);
  });

  it('changes nothing until it is changed', () => {
    expect(mappingChanges(SETTINGS, mappingRows(SETTINGS))).toEqual({});
  });

  it('sends what was changed, added and removed, and leaves out unfinished lines', () => {
    const rows = [
      { kind: 'event' as const, name: 'purchase', value: 'CompletePayment' },
      { kind: 'event' as const, name: ' lead ', value: ' Lead ' },
      { kind: 'field' as const, name: '', value: 'value' },
      { kind: 'field' as const, name: 'x', value: ' ' },
    ];
    expect(mappingChanges(SETTINGS, rows)).toEqual({
      'field.plan': '',
      'event.purchase': 'CompletePayment',
      'event.lead': 'Lead',
    });
  });

  it('is marked as edited only while it differs from what is stored', () => {
    const settings = { 'event.purchase': 'Purchase' };
    expect(isEdited(settings, undefined)).toBe(false);
    expect(isEdited(settings, mappingRows(settings))).toBe(false);
    expect(isEdited(settings, [])).toBe(true);
  });
});

describe('received events', () => {
  const received = {
    ...{ event: 'order_completed', conversions: 69, lastSeen: '2026-01-01T00:00:00.000Z' },
    connections: [
      { platform: 'meta', state: 'sent' as const },
      {
        platform: 'google_ads',
        state: 'not_mapped' as const,
        suggestion: { event: 'purchase' as const, value: '111' },
      },
      { platform: 'linkedin', state: 'not_mapped' as const },
      { platform: 'x', state: 'not_selected' as const },
    ],
  };
  const rowOf = (chosen: string, rows: Parameters<typeof eventRows>[2] = []) => eventRows([received], chosen, rows)[0];

  it('say where they go', () => {
    expect(rowOf('meta')).toEqual({
      ...{ event: 'order_completed', conversions: 69, lastSeen: '2026-01-01T00:00:00.000Z', sentTo: 1 },
      notSent: [
        { connection: 'google_ads', words: 'Google Ads: not mapped', tone: 'warn' },
        { connection: 'linkedin', words: 'LinkedIn: not mapped', tone: 'warn' },
        { connection: 'x', words: 'X: not selected', tone: 'plain' },
      ],
    });
  });

  it('are mapped to what is suggested, or to what is typed', () => {
    expect(rowOf('google_ads')?.mapTo).toEqual({ label: 'Map as purchase', value: '111' });
    expect(rowOf('linkedin')?.mapTo).toEqual({ label: 'Map', value: '' });
    expect(rowOf('x')?.mapTo).toBeUndefined();
    expect(rowOf('linkedin', [{ kind: 'event', name: 'order_completed', value: '' }])?.mapTo).toBeUndefined();
  });
});
