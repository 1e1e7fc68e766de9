import { retentionRows } from './retention-view.js';

describe('retention on the page', () => {
  it('names what is kept forever, and leaves out topics without brokers', () => {
    expect(retentionRows({ identifiers: '90d', unidentifiedVisits: '30d' }).map(([, value]) => value)).toEqual([
      'kept forever',
      'kept as long as the events',
      '90d',
      '30d',
    ]);
    expect(retentionRows({ events: '365d', identifiers: '90d', unidentifiedVisits: '30d', topics: '7d' })).toHaveLength(
      5,
    );
  });
});
