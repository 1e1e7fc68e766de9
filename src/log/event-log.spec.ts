import { describeEventLog } from '../../test/support/event-log.contract.js';
import { InMemoryLog } from '../../test/support/in-memory-log.js';

describe('the in-memory event log', () => {
  let log: InMemoryLog;
  beforeEach(() => {
    log = new InMemoryLog();
  });
  afterEach(() => log.close());

  describeEventLog(() => log);
});
