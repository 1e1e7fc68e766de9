// All faults, drawn at random, on two instances under load. One seed draws the same faults in the same order.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FakeClock } from './harness/fake-clock.mjs';
import { Testbed } from './harness/testbed.mjs';

const RATE = 450;
const FAULT_EVERY_MS = [500, 3_500];
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
/** The walk must have injected each kind this often per minute, or it was not one. */
const PER_MINUTE_MIN = 0.02;

export const switches = ['scan', 'append-deadline', 'early-answer', 'async-commit', 'own-clock'];

export async function drill({ short, minutes = short ? 3 : 60, seed, log }) {
  const testbed = await Testbed.open({
    seed,
    clock: true,
    webhook: true,
    env: {
      // Platforms fail for minutes: retries go on, and nothing is given up within the drill.
      DELIVERY_RETRY_SCHEDULE: '1s,2s,5s,10s',
      DELIVERY_GIVE_UP: '30d',
      OUTBOUND_EVERY: '20s',
      OUTBOUND_TIMEOUT: '2s',
      OUTBOUND_RETRY_SCHEDULE: '1s,2s',
      OUTBOUND_ALLOW_PRIVATE: 'true',
    },
    // Otherwise commits that do not wait for the disk would rarely be lost.
    database: { settings: { wal_writer_delay: '10s' } },
  });
  try {
    const walk = new Walk(testbed, log);
    const load = testbed.load({ timeoutMs: 3_000, repeats: 0.01, concurrency: 96 });
    load.start(RATE);
    await walk.run(minutes);
    const acknowledged = load.counts.acknowledged;
    await walk.end();
    log(`all faults have ended, ${acknowledged} acknowledged`);
    const rows = await testbed.finish({ settleWithinMs: 1_800_000 });
    const unexpected = [...load.unexpected].map(([status, count]) => `${count} × ${status}`).join(', ');
    return [
      ...walk.rows(minutes),
      { what: 'other answers than 200 and 503', result: unexpected || 0, ok: unexpected === '' },
      ...rows,
    ];
  } finally {
    await testbed.close();
  }
}

class Walk {
  #busy = new Set();
  #running = new Set();
  #injected = new Map();

  constructor(testbed, log) {
    this.testbed = testbed;
    this.log = log;
    this.random = testbed.random();
    this.answers = testbed.random();
    this.clocks = testbed.instances.map(({ name }) => new FakeClock(join(testbed.directory, `clock-${name}`)));
    this.platform = { error: 0, lost: 0, throttled: 0, slowMs: 0 };
    testbed.double.behave = () => this.#answer();
  }

  async run(minutes) {
    const names = Object.keys(FAULTS);
    const endMs = performance.now() + minutes * 60_000;
    let reportedMs = performance.now();
    while (performance.now() < endMs) {
      await sleep(this.#between(...FAULT_EVERY_MS));
      // Drawn before it is known whether it can be injected now, so that the sequence depends on the seed alone.
      const name = names[Math.floor(this.random() * names.length)];
      const draw = [this.random(), this.random()];
      const { scope, inject } = FAULTS[name];
      const index = Math.floor(draw[0] * this.testbed.instances.length);
      const resource = scope === 'instance' ? `instance ${index}` : scope;
      // A stalled or stopped database hides what happens to an instance, so these do not overlap.
      if (this.#busy.has(resource)) continue;
      this.#busy.add(resource);
      this.#injected.set(name, (this.#injected.get(name) ?? 0) + 1);
      const run = inject(this, this.testbed.instances[index], draw[1], index)
        .catch((error) => this.log(`${name} failed: ${error.message}`))
        .finally(() => {
          this.#busy.delete(resource);
          this.#running.delete(run);
        });
      this.#running.add(run);
      if (performance.now() - reportedMs < 60_000) continue;
      reportedMs = performance.now();
      this.log(`${[...this.#injected.values()].reduce((sum, count) => sum + count, 0)} faults`);
    }
  }

  async end() {
    await Promise.all(this.#running);
  }

  rows(minutes) {
    const total = [...this.#injected.values()].reduce((sum, count) => sum + count, 0);
    const rare = Object.keys(FAULTS).filter((name) => (this.#injected.get(name) ?? 0) < PER_MINUTE_MIN * minutes);
    return [
      {
        what: 'faults injected',
        result: `${total}: ${[...this.#injected].map(([name, count]) => `${name} ${count}`).join(', ')}`,
        ok: minutes < 10 || rare.length === 0,
      },
    ];
  }

  #answer() {
    const { error, lost, throttled, slowMs } = this.platform;
    const drawn = this.answers();
    const delayMs = slowMs * this.answers();
    if (drawn < error) return { answer: 'error', delayMs };
    if (drawn < error + lost) return { answer: 'lost', delayMs };
    if (drawn < error + lost + throttled) return { answer: 'throttled', delayMs };
    return { answer: 'ok', delayMs };
  }

  #between(min, max) {
    return min + this.random() * (max - min);
  }
}

const within = (drawn, min, max) => min + drawn * (max - min);

/** `scope`: what is affected. At most one fault of a scope at a time. */
const FAULTS = {
  kill: {
    scope: 'instance',
    async inject({ testbed }, instance, drawn) {
      await instance.kill();
      testbed.faults.kills += 1;
      await sleep(within(drawn, 0, 1_000));
      await instance.start();
    },
  },
  stop: {
    scope: 'instance',
    async inject({ testbed }, instance) {
      testbed.faults.stops += 1;
      await instance.stop();
      await instance.start();
    },
  },
  freeze: {
    scope: 'instance',
    async inject({ testbed }, instance, drawn) {
      testbed.faults.freezes += 1;
      instance.freeze();
      await sleep(within(drawn ** 3, 200, 70_000));
      instance.thaw();
    },
  },
  'freeze, then kill': {
    scope: 'instance',
    async inject({ testbed }, instance, drawn) {
      testbed.faults.freezes += 1;
      instance.freeze();
      await sleep(within(drawn ** 2, 1_000, 45_000));
      instance.thaw();
      await sleep(within(drawn, 100, 3_000));
      testbed.faults.kills += 1;
      await instance.kill();
      await instance.start();
    },
  },
  'stop while frozen': {
    scope: 'instance',
    async inject({ testbed }, instance, drawn) {
      testbed.faults.freezes += 1;
      testbed.faults.stops += 1;
      instance.freeze();
      const stopped = instance.stop();
      await sleep(within(drawn, 500, 15_000));
      instance.thaw();
      await stopped;
      await instance.start();
    },
  },
  'wrong clock': {
    scope: 'instance',
    async inject({ testbed, clocks }, instance, drawn, index) {
      testbed.faults.stops += 1;
      await instance.stop();
      const skews = [8 * DAY_S, HOUR_S, -HOUR_S, 300, -300];
      clocks[index].set(skews[Math.floor(drawn * skews.length)]);
      await instance.start({ env: clocks[index].env });
      await sleep(10_000);
      await instance.stop();
      testbed.faults.stops += 1;
      await instance.start();
    },
  },
  'held-back bytes': {
    scope: 'instance',
    async inject(_, instance, drawn) {
      const release = instance.proxy.hold('append');
      await sleep(within(drawn, 1_000, 25_000));
      release();
    },
  },
  'lost answers of the database': {
    scope: 'instance',
    async inject(_, { proxy }, drawn) {
      proxy.losesAnswers = true;
      await sleep(within(drawn, 100, 2_000));
      proxy.losesAnswers = false;
    },
  },
  latency: {
    scope: 'instance',
    async inject(_, { proxy }, drawn) {
      proxy.latencyMs = within(drawn, 20, 700);
      await sleep(4_000);
      proxy.latencyMs = 0;
    },
  },
  resets: {
    scope: 'instance',
    async inject(_, { proxy }, drawn) {
      for (let times = 0; times < 1 + drawn * 4; times += 1) {
        proxy.reset();
        await sleep(300);
      }
    },
  },
  stall: {
    scope: 'database',
    async inject({ testbed }, _, drawn) {
      const release = await testbed.database.holdLock();
      await sleep(within(drawn, 500, 6_000));
      await release();
    },
  },
  'kill of PostgreSQL': {
    scope: 'database',
    async inject({ testbed }, _, drawn) {
      testbed.faults.kills += 1;
      await testbed.database.kill();
      await sleep(within(drawn, 0, 2_000));
      await testbed.database.start();
    },
  },
  'freeze of PostgreSQL': {
    scope: 'database',
    async inject({ testbed }, _, drawn) {
      testbed.faults.freezes += 1;
      testbed.database.freeze();
      await sleep(within(drawn, 200, 6_000));
      testbed.database.thaw();
    },
  },
  'jump of the database’s clock': {
    scope: 'database',
    async inject({ testbed }, _, drawn) {
      testbed.clock.set(Math.round(within(drawn, 1, 400)) * DAY_S);
      await sleep(4_000);
      testbed.clock.set(0);
      // Half a minute without appends would otherwise follow every few seconds.
      await sleep(60_000);
    },
  },
  'platform errors': { scope: 'platform', inject: ({ platform }, _, drawn) => behaving(platform, 'error', 0.5, drawn) },
  'lost answers of platforms': {
    scope: 'platform',
    inject: ({ platform }, _, drawn) => behaving(platform, 'lost', 0.3, drawn),
  },
  'throttling platforms': {
    scope: 'platform',
    inject: ({ platform }, _, drawn) => behaving(platform, 'throttled', 0.3, drawn),
  },
  'slow platforms': {
    scope: 'platform',
    inject: ({ platform }, _, drawn) => behaving(platform, 'slowMs', 9_000, drawn),
  },
};

async function behaving(platform, property, value, drawn) {
  platform[property] = value;
  await sleep(within(drawn, 1_000, 15_000));
  platform[property] = 0;
}
