import { jest } from '@jest/globals';
import { LogUnavailable } from '../kernel/errors.js';
import type { AppendOutcome, AppendRequest } from '../log/event.js';
import { OutcomeWriter } from './outcome-writer.js';

function request(stream: string): AppendRequest {
  const events: AppendRequest['events'] = [{ type: 'conversion.delivered.v1', data: {} }];
  const expected = { owned: 1, position: 1 };
  return { category: 'conversion', stream, expected, site: 'shop.example', actor: 'system', events };
}

describe('OutcomeWriter', () => {
  it('sends what settles in one turn as one request, and gives each stream its own answer', async () => {
    const answers: Record<string, AppendOutcome | Error> = {
      a: { status: 'appended', position: 2, time: '2026-03-01T10:00:00.000Z' },
      b: { status: 'conflict' },
      c: new LogUnavailable('The append queue is full'),
      d: { status: 'conflict' },
    };
    const appendAll = jest.fn(async (requests: readonly AppendRequest[]) =>
      requests.map(({ stream }) => answers[stream] as AppendOutcome),
    );
    const writer = new OutcomeWriter({ appendAll, readStream: async () => [] });
    const answered: Record<string, AppendOutcome | Error> = {};
    const append = (stream: string) =>
      new Promise<void>((next) => {
        writer.append(request(stream), (answer) => {
          answered[stream] = answer;
          next();
        });
      });
    await Promise.all(['a', 'b', 'c'].map(append));
    await append('d');
    expect(answered).toEqual(answers);
    expect(appendAll.mock.calls.map(([requests]) => requests.map(({ stream }) => stream))).toEqual([
      ['a', 'b', 'c'],
      ['d'],
    ]);
  });
});
