import type { Schemas } from '../api.js';
import { testView } from './connection-test-view.js';

type Test = Schemas['ConnectionTest'];

const test = (more: Pick<Test, 'ok' | 'result'> & Partial<Test>): Test => {
  return { platform: 'meta', status: 'validated', sent: false, checked: [], ...more };
};

describe('testView', () => {
  it('is green only for a conversion that was accepted', () => {
    expect(testView(test({ ok: true, sent: true, result: 'accepted', checked: ['payload', 'pixel'] }))).toEqual({
      tone: 'ok',
      title: 'A test conversion was sent and accepted',
      checked: 'Checked and right: payload, pixel',
    });
  });

  it('is grey where none was sent, with what was checked and what is missing', () => {
    const reason = 'Meta counts every event. Set test_event_code.';
    const unsent = (checked: Test['checked']) => testView(test({ ok: true, result: 'not_sent', reason, checked }));
    expect(unsent(['credentials', 'events'])).toEqual({
      tone: 'plain',
      title: 'No conversion was sent',
      checked: 'Checked and right: credentials, mapped events',
      next: reason,
    });
    expect(unsent([])).toMatchObject({ tone: 'plain', checked: 'Nothing could be checked' });
  });

  it('is red with the words of the platform and what to do', () => {
    const refused = test({ ok: false, result: 'refused', reason: 'HTTP 401: no' });
    expect(testView({ ...refused, fix: 'Set a new token.' })).toEqual({
      tone: 'bad',
      title: 'Refused',
      said: 'HTTP 401: no',
      next: 'Set a new token.',
    });
    expect(testView(refused)).toEqual({ tone: 'bad', title: 'Refused', said: 'HTTP 401: no' });
  });
});
