import { type ClockStep, DatabaseClock } from './database-clock.js';

const START_MS = Date.parse('2026-03-01T00:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A process and a database whose clocks can be set independently. */
class Machines {
  private monotonicMs = 1_000;
  /** Difference between each clock and the monotonic one. */
  readonly offsets = { database: START_MS, wall: START_MS, sinceBoot: 50_000 };
  readonly steps: ClockStep[] = [];
  readonly clock: DatabaseClock;

  constructor({ firstRoundTripMs = 2, databaseAheadMs = 0, newestEventMs = undefined as number | undefined } = {}) {
    this.offsets.database += databaseAheadMs;
    this.clock = new DatabaseClock(this.sample(firstRoundTripMs, 0), newestEventMs, {
      monotonicMs: () => this.monotonicMs,
      wallMs: () => this.monotonicMs + this.offsets.wall,
      sinceBootMs: () => this.monotonicMs + this.offsets.sinceBoot,
    });
    this.clock.onStep((step) => this.steps.push(step));
  }

  get databaseMs(): number {
    return this.monotonicMs + this.offsets.database;
  }

  pass(ms: number): void {
    this.monotonicMs += ms;
  }

  /** `share` of the round trip is spent before the database reads its clock. */
  sample(roundTripMs: number, share = 0.5) {
    const requestedMs = this.monotonicMs;
    const databaseMs = requestedMs + roundTripMs * share + this.offsets.database;
    this.monotonicMs += roundTripMs;
    return { requestedMs, databaseMs, answeredMs: this.monotonicMs };
  }

  observe(roundTripMs = 2, share = 0.5): void {
    this.clock.observe(this.sample(roundTripMs, share));
  }

  /** One sample a second, as in the service. */
  run(seconds: number): void {
    for (let second = 0; second < seconds; second++) {
      this.pass(1_000);
      this.observe();
    }
  }

  suspend(ms: number): void {
    this.offsets.database += ms;
    this.offsets.wall += ms;
    this.offsets.sinceBoot += ms;
  }

  get errorMs(): number {
    return Math.abs(this.clock.nowMs() - this.databaseMs);
  }

  /** The time of the database is the one that counts. */
  expectFollowed(): void {
    expect(this.clock.refusal()).toBeUndefined();
    expect(this.errorMs).toBeLessThan(5);
  }
}

describe('database clock', () => {
  let machines: Machines;

  beforeEach(() => {
    machines = new Machines();
  });

  it('follows the database between samples although the wall clock of the process is wrong', () => {
    machines.offsets.wall += 8 * DAY_MS;
    machines.run(10);
    machines.pass(700);
    expect(machines.errorMs).toBeLessThan(5);
    expect(machines.clock.differenceMs()).toBeCloseTo(-8 * DAY_MS, -1);
    expect(machines.clock.refusal()).toBeUndefined();
    expect(machines.steps).toEqual([]);
  });

  it('converts a moment of the monotonic clock', () => {
    expect(machines.clock.at(9_000)).toBeCloseTo(9_000 + START_MS, -1);
  });

  it('keeps the estimate of a fast sample when a slow one follows', () => {
    machines.run(3);
    machines.observe(3_000, 0.99);
    expect(machines.errorMs).toBeLessThan(5);
    expect(machines.steps).toEqual([]);
  });

  it('refines the estimate of a slow first sample', () => {
    machines = new Machines({ firstRoundTripMs: 3_000 });
    expect(machines.errorMs).toBe(1_500);
    machines.run(1);
    expect(machines.errorMs).toBeLessThan(5);
  });

  it('follows a clock that drifts', () => {
    for (let second = 0; second < 600; second++) {
      machines.offsets.database += 0.3;
      machines.run(1);
    }
    expect(machines.errorMs).toBeLessThan(5);
    expect(machines.steps).toEqual([]);
  });

  it('follows a failover to a server whose clock is 3 s off without reporting a step', () => {
    machines.run(1);
    machines.offsets.database += 3_000;
    machines.run(1);
    expect(machines.errorMs).toBeLessThan(5);
    expect(machines.steps).toEqual([]);
  });

  it('continues the time before a step while the new one is distrusted, and after it stepped back', () => {
    machines.offsets.database += 400 * DAY_MS;
    machines.run(4);
    expect(machines.clock.refusal()).toContain('400d ahead');
    expect(machines.clock.nowMs()).toBeCloseTo(machines.databaseMs - 400 * DAY_MS, -1);
    expect(machines.clock.differenceMs()).toBeCloseTo(400 * DAY_MS, -1);
    machines.offsets.database -= 400 * DAY_MS;
    machines.run(1);
    machines.expectFollowed();
    expect(machines.steps.map(({ beforeMs, afterMs }) => Math.round((afterMs - beforeMs) / DAY_MS))).toEqual([
      400, -400,
    ]);
    expect(machines.steps.map(({ isTrusted }) => isTrusted)).toEqual([false, true]);
  });

  it('trusts the time before a step again although the wall clock of the process is wrong', () => {
    machines.offsets.wall -= 8 * DAY_MS;
    machines.run(1);
    machines.offsets.database += 2 * HOUR_MS;
    machines.run(4);
    machines.offsets.database -= 2 * HOUR_MS;
    machines.run(1);
    expect(machines.clock.refusal()).toBeUndefined();
  });

  it('follows a failover to a server whose clock is 2 h off once it is steady for 30 s', () => {
    machines.offsets.database += 2 * HOUR_MS;
    machines.run(29);
    expect(machines.clock.refusal()).toContain('2h ahead');
    machines.run(2);
    machines.expectFollowed();
    expect(machines.steps).toHaveLength(1);
  });

  it('waits anew when a distrusted clock steps again', () => {
    machines.offsets.database += 2 * HOUR_MS;
    machines.run(25);
    machines.offsets.database += HOUR_MS;
    machines.run(25);
    expect(machines.clock.refusal()).toContain('3h ahead');
    expect(machines.steps).toHaveLength(2);
  });

  it('trusts a step at once that the wall clock of the process confirms', () => {
    machines.offsets.database -= 2 * HOUR_MS;
    machines.run(40);
    machines.offsets.database += 2 * HOUR_MS;
    machines.run(1);
    machines.expectFollowed();
    expect(machines.steps.map(({ isTrusted }) => isTrusted)).toEqual([false, true]);
  });

  it('distrusts a step that the wall clock of the process made as well', () => {
    machines.offsets.database += 400 * DAY_MS;
    machines.offsets.wall += 400 * DAY_MS;
    machines.run(4);
    expect(machines.clock.refusal()).toContain('400d ahead');
    machines.offsets.database -= 400 * DAY_MS;
    machines.offsets.wall -= 400 * DAY_MS;
    machines.run(1);
    machines.expectFollowed();
  });

  describe('at the start', () => {
    it('does not follow a clock that is ahead for a moment', () => {
      machines = new Machines({ databaseAheadMs: 400 * DAY_MS });
      expect(machines.clock.refusal()).toContain('400d ahead');
      machines.run(4);
      expect(machines.clock.refusal()).toContain('400d ahead');
      machines.offsets.database = START_MS;
      machines.run(1);
      machines.expectFollowed();
    });

    it('follows a clock that differs from that of the process once it is steady for 30 s', () => {
      machines = new Machines({ databaseAheadMs: -8 * DAY_MS });
      machines.run(29);
      expect(machines.clock.refusal()).toContain('8d back');
      machines.run(2);
      machines.expectFollowed();
    });

    it.each([0, -59_000, 59_000])('follows at once a clock that differs by %d ms', (databaseAheadMs) => {
      machines = new Machines({ databaseAheadMs });
      machines.expectFollowed();
    });

    it('follows at once a clock by which an event was stored a moment ago', () => {
      machines = new Machines({ databaseAheadMs: -8 * DAY_MS, newestEventMs: START_MS - 8 * DAY_MS - 20_000 });
      machines.expectFollowed();
    });

    it('takes an old event for no confirmation', () => {
      machines = new Machines({ databaseAheadMs: 400 * DAY_MS, newestEventMs: START_MS });
      expect(machines.clock.refusal()).toContain('400d ahead');
    });
  });

  it('takes the suspension of the machine for no step', () => {
    machines.run(1);
    machines.suspend(HOUR_MS);
    machines.run(1);
    machines.expectFollowed();
    expect(machines.steps).toEqual([]);
  });

  it('ignores a sample that a later one overtook', () => {
    const old = machines.sample(2);
    machines.offsets.database += HOUR_MS;
    machines.run(1);
    machines.clock.observe(old);
    expect(machines.clock.refusal()).toContain('ahead');
    expect(machines.steps).toHaveLength(1);
  });

  it('calls no listener that was removed', () => {
    let calls = 0;
    const remove = machines.clock.onStep(() => calls++);
    remove();
    machines.offsets.database += HOUR_MS;
    machines.run(1);
    expect(calls).toBe(0);
  });
});
