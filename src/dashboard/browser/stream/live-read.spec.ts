import { LiveRead } from './live-read.js';

/** That was read as of a position. */
function readAsOf(position: number): LiveRead {
  const read = new LiveRead();
  read.ended(position, 0);
  return read;
}

describe('a resource that events change', () => {
  it('is read again if an event is newer than what is shown of it', () => {
    const read = readAsOf(10);
    read.changed(10);
    expect(read.begin(0)).toBe(false);
    read.changed(11);
    expect([read.begin(0), read.begin(0)]).toEqual([true, false]);
  });

  it('is read until the projection has the event', () => {
    const read = readAsOf(10);
    read.changed(12);
    expect(read.begin(0)).toBe(true);
    read.ended(11, 5);
    expect(read.begin(2_000)).toBe(true);
    read.ended(12, 2_005);
    expect(read.isDue).toBe(false);
  });

  it.each([
    ['missed', 90],
    ['gone with the database, which was replaced by its backup,', 3],
  ])('is read again after events were %s', (_, until) => {
    const read = readAsOf(10);
    read.skipped(until);
    expect(read.begin(0)).toBe(true);
    read.ended(until, 5);
    expect(read.isDue).toBe(false);
  });

  it('is read again after a failure', () => {
    const read = readAsOf(10);
    read.changed(11);
    read.begin(0);
    read.ended(undefined, 5);
    expect(read.isDue).toBe(true);
  });

  it('takes at most a tenth of the time', () => {
    const read = readAsOf(10);
    read.changed(11);
    read.begin(0);
    read.ended(11, 1_000);
    read.changed(12);
    expect([read.begin(9_000), read.begin(10_000)]).toEqual([false, true]);
  });
});
