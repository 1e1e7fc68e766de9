import { PLATFORM_NAMES } from '../../platforms/platform.js';
import { ConnectionLabels, NAMED_LABELS_MAX } from './connection-labels.js';

describe('ConnectionLabels', () => {
  it('is the name of the connection, until there are too many names', () => {
    const labels = new ConnectionLabels();
    for (let number = 0; number < NAMED_LABELS_MAX; number += 1)
      expect(labels.of(`meta:n${number}`)).toBe(`meta:n${number}`);
    expect(labels.of('meta:late')).toBe('meta:*');
    expect(labels.of('x:late')).toBe('x:*');
    expect(labels.of('meta:n0')).toBe('meta:n0');
    for (const platform of PLATFORM_NAMES) expect(labels.of(platform)).toBe(platform);
  });
});
