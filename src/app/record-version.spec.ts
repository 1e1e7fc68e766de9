import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { VERSION_STREAM } from '../events/log.events.js';
import { recordVersion } from './record-version.js';

describe('the record of versions', () => {
  let log: InMemoryLog;

  beforeEach(() => {
    log = new InMemoryLog();
  });

  const recorded = async () => (await log.readStream('log', VERSION_STREAM)).map(({ data }) => data);

  it('has a version once, however often it starts, and again after a rollback', async () => {
    for (const version of ['0.3.0', '0.3.0', '0.4.0', '0.3.0', '0.3.0']) await recordVersion(log, version);
    expect(await recorded()).toEqual([{ version: '0.3.0' }, { version: '0.4.0' }, { version: '0.3.0' }]);
  });

  it('has a version once when instances start together', async () => {
    await recordVersion(log, '0.3.0');
    await Promise.all(Array.from({ length: 5 }, () => recordVersion(log, '0.4.0')));
    expect(await recorded()).toEqual([{ version: '0.3.0' }, { version: '0.4.0' }]);
  });

  it('has both versions of instances that start together', async () => {
    await Promise.all(['0.3.0', '0.4.0'].map((version) => recordVersion(log, version)));
    expect(
      (await recorded()).toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
    ).toEqual([{ version: '0.3.0' }, { version: '0.4.0' }]);
  });
});
