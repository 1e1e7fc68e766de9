import type { ArgumentsHost } from '@nestjs/common';
import { CommitUnknown, LogUnavailable, SitePaused, TooManyRequests } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import { TooBusy } from '../kernel/semaphore.js';
import { isRefusal, ProblemFilter } from './problem.filter.js';

const QUIET = { warn: () => {}, error: () => {} } as unknown as Logger;

/** What is answered when a request ends with the error. */
function answerTo(error: Error, method: string, headers: Record<string, string>) {
  const answer: { status?: number; headers?: Record<string, string>; body?: { detail: string } } = {};
  const reply = {
    status: (status: number) => Object.assign(reply, { is: Object.assign(answer, { status }) }),
    headers: (sent: Record<string, string>) => Object.assign(reply, { is: Object.assign(answer, { headers: sent }) }),
    type: () => reply,
    send: (body: string) => Object.assign(answer, { body: JSON.parse(body) }),
  };
  const http = { getResponse: () => reply, getRequest: () => ({ method, headers }) };
  new ProblemFilter(QUIET).catch(error, { switchToHttp: () => http } as unknown as ArgumentsHost);
  return answer;
}

describe('a request during an outage of the database', () => {
  const outage = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const key = { 'idempotency-key': 'abc' };

  it.each([outage, new LogUnavailable('The append timed out')])('is to be repeated: %s', (error) => {
    for (const [method, headers] of [
      ['POST', {}],
      ['GET', key],
    ] as const)
      expect(answerTo(error, method, headers)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
  });

  it.each([outage, new LogUnavailable('The append timed out')])(
    'is to be looked up if it has an Idempotency-Key, which cannot be used again: %s',
    (error) => {
      const { status, headers, body } = answerTo(error, 'POST', key);
      expect([status, headers]).toEqual([503, {}]);
      expect(body?.detail).toContain('use a new Idempotency-Key');
    },
  );
});

describe('a request whose commit had no answer', () => {
  const lost = new CommitUnknown(new Error('Connection terminated unexpectedly'));

  it('is to be looked up before it is repeated', () => {
    const { status, headers, body } = answerTo(lost, 'POST', {});
    expect([status, headers]).toEqual([503, {}]);
    expect(body?.detail).toContain('look up what it changed before you repeat it');
    expect(answerTo(lost, 'POST', { 'idempotency-key': 'abc' }).body?.detail).toContain('use a new Idempotency-Key');
    expect(isRefusal(lost)).toBe(false);
  });
});

describe('a request for which no connection became free', () => {
  const busy = new Error('timeout exceeded when trying to connect');

  it('is to be repeated, and the database is not blamed', () => {
    const { status, headers, body } = answerTo(busy, 'GET', {});
    expect([status, headers]).toEqual([503, { 'retry-after': '5' }]);
    expect(body?.detail).toBe('There is too much to do at the moment. Try again.');
  });

  it('is to be looked up if it has an Idempotency-Key: its first statements may have been carried out', () => {
    const { headers, body } = answerTo(busy, 'POST', { 'idempotency-key': 'abc' });
    expect(headers).toEqual({});
    expect(body?.detail).toContain('use a new Idempotency-Key');
  });
});

describe('a request that was not started', () => {
  it('can be repeated with its Idempotency-Key when the site is resumed', () => {
    const error = new SitePaused('shop.example');
    expect(isRefusal(error)).toBe(true);
    expect(answerTo(error, 'POST', { 'idempotency-key': 'abc' })).toMatchObject({ status: 409 });
  });

  it.each([
    [new TooManyRequests('Try again in a minute.', 60), 429, '60'],
    [new TooBusy('busy'), 503, '5'],
  ])('can be repeated with its Idempotency-Key: %s', (error, status, seconds) => {
    expect(isRefusal(error)).toBe(true);
    const repeated = answerTo(error, 'POST', { 'idempotency-key': 'abc' });
    expect(repeated).toMatchObject({ status, headers: { 'retry-after': seconds } });
  });
});
