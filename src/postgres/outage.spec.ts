import { UserError } from '../kernel/errors.js';
import { isDatabaseOutage, isPoolBusy } from './outage.js';

const withCode = (code: string) => Object.assign(new Error('failed'), { code });

describe('an outage of the database', () => {
  it.each(['08006', '57P01', '57P03', '53300', '25006', '25P03', '55P03', '57014', 'ECONNREFUSED', 'ENOENT'])(
    'is an error with the code %s',
    (code) => {
      expect(isDatabaseOutage(withCode(code))).toBe(true);
    },
  );

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout exceeded when trying to connect',
    'Query read timeout',
  ])("is pg's error %p", (message) => {
    expect(isDatabaseOutage(new Error(message))).toBe(true);
  });

  it('is found behind a message for users', () => {
    const error = new UserError('PostgreSQL cannot be reached', { cause: withCode('ECONNREFUSED') });
    expect(isDatabaseOutage(error)).toBe(true);
  });

  it('is not a statement that the database refused, nor another error', () => {
    for (const error of [withCode('23505'), withCode('42601'), new Error('a bug'), new UserError('no'), 'text'])
      expect(isDatabaseOutage(error)).toBe(false);
  });
});

it('an outage of the database is told apart from a pool whose connections are all in use', () => {
  const busy = new Error('timeout exceeded when trying to connect');
  expect([busy, new UserError('no', { cause: busy })].map(isPoolBusy)).toEqual([true, true]);
  const others = [new Error('Connection terminated due to connection timeout'), withCode('ECONNREFUSED'), 'text'];
  expect(others.map(isPoolBusy)).toEqual([false, false, false]);
});
