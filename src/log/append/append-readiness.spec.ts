import type { Queryable } from '../event-reader.js';
import { AppendReadiness } from './append-readiness.js';

const HEALTHY = { standby: false, read_only: false, role: 'cc_service', denied: null, next: '7', has_partition: true };

function database(state: object = {}): Queryable {
  return { query: async () => ({ rows: [{ ...HEALTHY, ...state }] }) } as never;
}

describe('AppendReadiness', () => {
  let nowMs: number;
  let trial: () => Promise<void>;
  let trials: number;
  let readiness: AppendReadiness;

  beforeEach(() => {
    nowMs = 0;
    trials = 0;
    trial = async () => {};
    readiness = new AppendReadiness(
      () => {
        trials += 1;
        return trial();
      },
      () => nowMs,
    );
  });

  it('makes no trial append while no append has failed', async () => {
    expect(await readiness.refusal(database())).toBeUndefined();
    expect(trials).toBe(0);
  });

  it.each([
    [{ standby: true }, 'the database is a standby, which stores nothing'],
    [{ read_only: true }, 'the database is read-only (default_transaction_read_only)'],
    [{ denied: 'cc.seals' }, 'the role cc_service may not insert into cc.seals'],
    [{ has_partition: false }, 'the log has no partition for position 7'],
  ])('names what the database says about itself: %j', async (state, reason) => {
    expect(await readiness.refusal(database(state))).toBe(reason);
  });

  it('stays unready after a failed append, however long ago, until a trial append succeeds', async () => {
    trial = () => Promise.reject(new Error('still full'));
    readiness.failed(new Error('disk full'));
    nowMs += 60_000;
    expect(await readiness.refusal(database())).toBe('the database does not answer');
    nowMs += 60_000;
    trial = async () => {};
    expect(await readiness.refusal(database())).toBeUndefined();
    expect(trials).toBe(2);
  });

  it('repeats trial appends at its own rate, not at the rate of the probes', async () => {
    trial = () => Promise.reject(new Error('still full'));
    readiness.failed(new Error('disk full'));
    nowMs += 2_000;
    for (let probe = 0; probe < 10; probe++) await readiness.refusal(database());
    expect(trials).toBe(1);
  });

  it('is ready again at once when an append succeeds', async () => {
    readiness.failed(new Error('disk full'));
    readiness.succeeded();
    expect(await readiness.refusal(database())).toBeUndefined();
    expect(trials).toBe(0);
  });
});
