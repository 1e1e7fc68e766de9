import { type JobForm, jobRequest, readSettings } from './new-job-view.js';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const LOCAL = '2026-11-01T00:00';
const FROM = new Date(LOCAL).toISOString();
const FORM: JobForm = {
  ...{ kind: 'shadow', format: 'csv', events: '', connection: 'meta', from: LOCAL, to: '' },
  ...{ botThreshold: '', dedupWindow: '', settings: '' },
};

describe('a new job', () => {
  it('replays with the rules that were entered, and with no others', () => {
    const span = { kind: 'shadow', from: FROM, to: '2026-11-16T12:00:00.000Z' };
    expect(jobRequest(FORM, NOW)).toEqual(span);
    expect(jobRequest({ ...FORM, botThreshold: '40', dedupWindow: ' 2h ' }, NOW)).toEqual({
      ...{ ...span, botThreshold: 40, dedupWindow: '2h' },
    });
    expect(jobRequest({ ...FORM, settings: 'event.purchase = Buy' }, NOW)).toEqual({
      ...{ ...span, settings: { meta: { 'event.purchase': 'Buy' } } },
    });
  });

  it('exports or sends again within the span', () => {
    expect(jobRequest({ ...FORM, kind: 'export', from: '' }, NOW)).toEqual({ kind: 'export', format: 'csv' });
    expect(jobRequest({ ...FORM, kind: 'export', from: '', events: 'pushes' }, NOW)).toEqual({
      ...{
        kind: 'export',
        format: 'csv',
        types: ['outbound.closed.v1', 'outbound.delivered.v1', 'outbound.failed.v1'],
      },
    });
    expect(jobRequest({ ...FORM, kind: 'replay' }, NOW)).toEqual({
      ...{ kind: 'replay', platform: 'meta', force: false, from: FROM },
    });
  });

  it('reads a setting from each line, and names a line that is none', () => {
    expect(readSettings(' event.purchase = A = B \n\nfield.plan=\n')).toEqual({
      ...{ 'event.purchase': 'A = B', 'field.plan': '' },
    });
    expect(() => readSettings('purchase')).toThrow('“purchase” is no setting');
  });
});
