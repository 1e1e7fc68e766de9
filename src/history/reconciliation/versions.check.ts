import { counted } from '../../kernel/counted.js';
import type { IsPartial, StreamCheck } from '../verify.js';
import { Violations } from './violations.js';

/**
 * The versions of a stream count from 1 without a gap. Of some sites the first events of a stream may be missing.
 */
export function versionsCheck(isPartial: IsPartial): StreamCheck {
  const violations = new Violations();
  let streams = 0;
  let events = 0;
  return {
    name: 'versions',
    read(stream) {
      streams += 1;
      events += stream.length;
      let next = stream[0] && isPartial(stream[0].site) ? stream[0].version : 1;
      for (const { version, position, stream: name } of stream) {
        if (version !== next)
          violations.add(`${name} has version ${version} at position ${position} instead of ${next}`);
        next = version + 1;
      }
    },
    finish: () => violations.finding(`${counted(events, 'event')} in ${counted(streams, 'stream')}`),
  };
}
