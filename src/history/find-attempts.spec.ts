import { PLATFORM_NAMES } from '../platforms/platform.js';
import { attemptKeys } from './find-attempts.js';

const SITE = { connections: [{ platform: 'meta' }, { platform: 'meta:second' }] } as never;
const keys = (filter: Parameters<typeof attemptKeys>[1]) =>
  attemptKeys(SITE, filter).map(({ type, value }) => `${type} ${value}`);

describe('keys of attempts', () => {
  it('are all types and connections without a filter', () => {
    expect(keys({})).toHaveLength(8 * (PLATFORM_NAMES.length + 1) + 3);
  });

  it('are those of a status, of deliveries, pushes and refused conversions', () => {
    const rejected = keys({ statuses: ['rejected'] });
    expect(rejected).toEqual(expect.arrayContaining(['conversion.rejected.v1 meta:second', 'inbound.rejected.v1 ']));
    expect(rejected.every((key) => /^\w+\.rejected\./.test(key))).toBe(true);
    expect(keys({ kind: 'push' })).toEqual(['outbound.delivered.v1 ', 'outbound.failed.v1 ']);
  });

  it('are only deliveries of a platform or a connection', () => {
    expect(keys({ statuses: ['failed'], platform: 'meta' })).toEqual([
      'conversion.failed.v1 meta',
      'conversion.failed.v1 meta:second',
    ]);
    expect(keys({ statuses: ['failed'], connection: 'x' })).toEqual(['conversion.failed.v1 x']);
    expect(keys({ connection: 'meta:second', platform: 'x' })).toEqual([]);
  });
});
