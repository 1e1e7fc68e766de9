import { Registry } from 'prom-client';
import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { loosely } from '../../test/support/loose-event.js';
import { CLOCK_STREAM, LOG } from '../events/log.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import type { EventLog } from '../log/event-log.js';
import { DatabaseClock } from '../postgres/database-clock.js';
import type { Postgres } from '../postgres/postgres.js';
import { ClockWatch } from './clock-watch.js';

const START_MS = Date.parse('2026-03-01T00:00:00Z');
const DAY_MS = 86_400_000;

describe('clock watch', () => {
  let monotonicMs: number;
  let databaseAheadMs: number;
  let wallAheadMs: number;
  let log: InMemoryLog;
  let lines: string[];

  beforeEach(() => {
    monotonicMs = 0;
    databaseAheadMs = 0;
    wallAheadMs = 0;
    log = new InMemoryLog();
    lines = [];
  });

  const sample = () => {
    monotonicMs += 1_000;
    return {
      requestedMs: monotonicMs,
      databaseMs: START_MS + monotonicMs + databaseAheadMs,
      answeredMs: monotonicMs,
    };
  };

  function openWatch(used: EventLog = log) {
    const clock = new DatabaseClock(sample(), undefined, {
      monotonicMs: () => monotonicMs,
      wallMs: () => START_MS + monotonicMs + wallAheadMs,
      sinceBootMs: () => monotonicMs,
    });
    const registry = new Registry();
    const logger = new Logger('warn', { write: (line) => lines.push(line) });
    const watch = new ClockWatch({ clock } as Postgres, used, logger, registry);
    const metric = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
    return { clock, check: () => watch.check(), metric };
  }

  const recorded = async () => loosely(await log.readStream(LOG, CLOCK_STREAM)).map(({ data }) => data);

  /** 400 days ahead, and back. */
  function jump(clocks: readonly DatabaseClock[]): void {
    for (const byMs of [400 * DAY_MS, -400 * DAY_MS]) {
      databaseAheadMs += byMs;
      const taken = sample();
      for (const clock of clocks) clock.observe(taken);
    }
  }

  it('appends both steps of a jump once appends are possible', async () => {
    const { clock, check, metric } = openWatch();
    databaseAheadMs = 400 * DAY_MS;
    clock.observe(sample());
    await check();
    expect(await recorded()).toEqual([]);
    databaseAheadMs = 0;
    clock.observe(sample());
    await check();
    expect(await recorded()).toMatchObject([
      { before: '2026-03-01T00:00:02.000Z', after: '2027-04-05T00:00:02.000Z', stepMs: 400 * DAY_MS, followed: false },
      { before: '2027-04-05T00:00:03.000Z', after: '2026-03-01T00:00:03.000Z', stepMs: -400 * DAY_MS, followed: true },
    ]);
    expect(await metric('cc_clock_steps_total')).toBe(2);
    expect(lines[0]).toContain("The database's clock jumped 400d ahead");
  });

  it('appends a step once that several instances noticed', async () => {
    const watches = [openWatch(), openWatch()];
    jump(watches.map(({ clock }) => clock));
    await Promise.all(watches.map(({ check }) => check()));
    expect((await recorded()).map(({ stepMs }) => stepMs)).toEqual([400 * DAY_MS, -400 * DAY_MS]);
  });

  it('keeps a step until the log is available', async () => {
    let isAvailable = false;
    const unreliable = {
      readStream: log.readStream.bind(log),
      append: (request: never) => (isAvailable ? log.append(request) : Promise.reject(new LogUnavailable('away'))),
    } as unknown as EventLog;
    const { clock, check } = openWatch(unreliable);
    jump([clock]);
    await check();
    expect(await recorded()).toEqual([]);
    isAvailable = true;
    await check();
    expect(await recorded()).toHaveLength(2);
  });

  it('warns once about a clock of this process that differs by more than a minute', async () => {
    const { check, metric } = openWatch();
    wallAheadMs = 8 * DAY_MS;
    await check();
    await check();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("the database's clock is 8d behind the clock of this machine");
    expect(await metric('cc_clock_difference_seconds')).toBe((-8 * DAY_MS) / 1_000);
  });
});
