import { isEdited, mappingChanges, mappingRows } from './mapping-view.js';

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
