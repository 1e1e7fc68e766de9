import { fieldError, isOfProxy, noAnswer, toProblem } from './problem.js';

describe('problems of requests', () => {
  it('distinguish a lost connection, a timeout and an unreadable answer', () => {
    const timeout = Object.assign(new Error('signal timed out'), { name: 'TimeoutError' });
    const titles = [new TypeError('Failed to fetch'), timeout, new SyntaxError('<html>')].map(
      (failure) => noAnswer(failure).title,
    );
    expect(titles).toEqual(['No connection', 'No answer', 'Unreadable answer']);
  });

  it('are made from an answer that contains no problem', () => {
    for (const body of ['<html>', undefined])
      expect(toProblem(502, body)).toMatchObject({
        title: 'HTTP 502',
        status: 502,
        detail: expect.stringMatching(/Try again/),
      });
  });

  it('are those of a proxy if it does not reach the service, which describes its own', () => {
    const own = { title: 'Service Unavailable', status: 503, detail: 'The service stops. Connect again.' };
    expect([isOfProxy(502, '<html>'), isOfProxy(504, undefined), isOfProxy(503, '')]).toEqual([true, true, true]);
    expect([isOfProxy(503, own), isOfProxy(404, '<html>'), isOfProxy(200, {})]).toEqual([false, false, false]);
  });

  it.each([400, 409, 422])(
    'are read from an answer %s, with a plain title and what is wrong with each field',
    (status) => {
      const errors = [{ field: 'name', message: 'Too long' }];
      const problem = { title: 'Of HTTP', status, detail: 'No.', errors };
      const title = status === 409 ? 'Not possible now' : 'Not accepted';
      expect(toProblem(status, problem)).toEqual({ ...problem, title });
      expect(fieldError(problem, 'name')).toBe('Too long');
      expect(fieldError(problem, 'other')).toBeUndefined();
    },
  );
});
