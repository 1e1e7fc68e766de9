import type { StreamBook } from '../verify.js';
import { Wrongs } from './wrongs.js';

/** Versions in a stream count from 1 without a gap. Of a log that was shortened, a stream may have lost its beginning. */
export function versionsBook(isShortened: boolean): StreamBook {
  const wrongs = new Wrongs();
  let streams = 0;
  let events = 0;
  return {
    name: 'versions',
    read(stream) {
      streams += 1;
      events += stream.length;
      let next = isShortened ? (stream[0]?.version ?? 1) : 1;
      for (const { version, position, stream: name } of stream) {
        if (version !== next) wrongs.add(`${name} has version ${version} at position ${position} instead of ${next}`);
        next = version + 1;
      }
    },
    close: () => wrongs.finding(`${events} events in ${streams} streams`),
  };
}
