import { resultsText, sendResults } from './send-results-view.js';

const SENT = ['a', 'b', 'c', 'd', 'e'].map((conversionId) => ({ conversionId, connection: 'meta' }));
const line = (position: number, conversionId: string, status: string, reason?: string) => ({
  ...{ position, conversionId, status, platform: 'meta' },
  ...(reason !== undefined && { reason }),
});

describe('sendResults', () => {
  it('counts the newest outcome of each delivery, with why it was not accepted', () => {
    const results = sendResults(SENT, [
      line(1, 'a', 'deferred', 'timeout'),
      line(6, 'a', 'delivered'),
      line(2, 'b', 'failed', '100 Invalid parameter'),
      line(3, 'c', 'failed', '100 Invalid parameter'),
      line(4, 'd', 'skipped', 'event_not_mapped'),
      line(5, 'unknown', 'delivered'),
      { ...line(7, 'e', 'delivered'), platform: 'tiktok' },
    ]);
    expect(results).toMatchObject({ sent: 5, accepted: 1, refused: 2, notSent: 1, waiting: 0, open: 1 });
    expect(results.reasons.map(({ words, why, count }) => [words, why, count])).toEqual([
      ['refused by Meta', '100 Invalid parameter', 2],
      ['not sent to Meta', 'the event is not mapped', 1],
    ]);
    expect(resultsText(results)).toBe(
      '5 deliveries requested: 1 accepted, 2 refused, 1 not sent, 1 without an answer yet',
    );
  });

  it('is all without an answer at first', () => {
    expect(resultsText(sendResults(SENT.slice(0, 1), []))).toBe('1 delivery requested: 1 without an answer yet');
  });
});
