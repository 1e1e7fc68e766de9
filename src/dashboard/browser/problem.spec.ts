import { noAnswer, toProblem } from './problem.js';

describe('problems of requests', () => {
  it('distinguish a lost connection, a timeout and an unreadable answer', () => {
    const timeout = Object.assign(new Error('signal timed out'), { name: 'TimeoutError' });
    const titles = [new TypeError('Failed to fetch'), timeout, new SyntaxError('<html>')].map(
      (failure) => noAnswer(failure).title,
    );
    expect(titles).toEqual(['No connection', 'No answer', 'Unreadable answer']);
  });

  it('are made from an answer that contains no problem, and read from one that does', () => {
    expect(toProblem(502, '<html>')).toMatchObject({ title: 'HTTP 502', status: 502 });
    expect(toProblem(409, { title: 'Conflict', status: 409, detail: 'Taken.' }).detail).toBe('Taken.');
    const refused = { title: 'Unprocessable Entity', status: 422, detail: 'pixel_id: must be digits only' };
    expect(toProblem(422, refused)).toEqual({ ...refused, title: 'Not accepted' });
  });
});
