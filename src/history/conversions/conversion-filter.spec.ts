import { OUTCOMES } from '../../kernel/outcome-words.js';
import { matchesDeliveries, openingConditions, openingTypes } from './conversion-filter.js';

const DELIVERIES = [
  { platform: 'meta', status: 'delivered' },
  { platform: 'meta:second', status: 'failed', reason: 'bad event' },
  { platform: 'tiktok', status: 'failed', reason: 'gave_up' },
  { platform: 'google_ads', status: 'deferred', reason: 'HTTP 503' },
];
const [received, duplicate, filtered] = ['received', 'deduplicated', 'filtered'].map((one) => `conversion.${one}.v1`);

describe('the filter of conversions', () => {
  it('has the words for outcomes', () => {
    expect(OUTCOMES).toEqual([
      ...['delivered', 'accepted', 'confirmed', 'refused', 'waiting', 'not_sent', 'filtered', 'duplicate', 'checked'],
    ]);
  });

  it.each([
    [{}, [received, duplicate, filtered]],
    [{ status: 'filtered' }, [filtered]],
    [{ outcome: 'duplicate' }, [duplicate]],
    [{ outcome: 'filtered' }, [filtered]],
    [{ outcome: 'filtered', connection: 'meta' }, []],
    [{ outcome: 'refused' }, [received]],
    [{ platform: 'meta' }, [received]],
    [{ platform: 'meta', status: 'filtered' }, []],
  ] as const)('with %j reads the openings that can match', (filter, types) => {
    expect(openingTypes(filter)).toEqual(types);
  });

  it.each([
    [{}, true],
    [{ outcome: 'filtered' }, true],
    [{ connection: 'meta' }, true],
    [{ connection: 'snapchat' }, false],
    [{ outcome: 'refused' }, true],
    [{ outcome: 'refused', platform: 'meta' }, true],
    [{ outcome: 'refused', connection: 'meta' }, false],
    [{ outcome: 'refused', connection: 'tiktok' }, false],
    [{ outcome: 'not_sent', connection: 'tiktok' }, true],
    [{ outcome: 'waiting' }, true],
    [{ outcome: 'delivered', platform: 'google_ads' }, false],
  ] as const)('with %j matches by one delivery: %j', (filter, isMatch) => {
    expect(matchesDeliveries(filter, DELIVERIES)).toBe(isMatch);
  });

  it('finds a source by where it happened and by whose webhook it was', () => {
    expect(openingConditions({ source: 'shopify', event: ['purchase'] })).toEqual([
      { anyOf: [['event']], is: ['purchase'] },
      { anyOf: [['source'], ['delivery', 'source']], is: ['shopify'] },
    ]);
  });
});
