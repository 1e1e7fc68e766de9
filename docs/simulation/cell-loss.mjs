// A discrete-event simulation of many cells, one of which loses its primary for some time. Pure: the same options have the same result.
// Cells share nothing, so each has its own queue, random numbers and clock of events.

const RETRY_AFTER_S = 2;

export const DEFAULTS = {
  seed: 1,
  /** New conversions per second, all cells together. */
  rate: 1_000_000,
  cells: 100,
  /** How long conversions arrive. Afterwards the simulation goes on until each of them is accepted or given up. */
  seconds: 300,
  /** When the first cell loses its primary, and for how long; 0: never. */
  lossAt: 20,
  lossSeconds: 30,
  /** From the loss, and from the return, until HAProxy knows by `/readyz`. */
  noticedAfter: 2,
  readyAfter: 1,
  /** PostgreSQL's part of an append, from docs/benchmarks.md: the limit of a cell. */
  batchFixedMs: 0.3,
  rowMicros: 52,
  /** Of the service: `APPEND_LIMITS`, of two instances. */
  batchRowsMax: 1_000,
  waitingRowsMax: 40_000,
  deadlineSeconds: 6,
  /** `fixed`: senders send again after Retry-After. `doubling`: after twice the time of the attempt before. Both with ±20 % jitter. */
  backOff: 'doubling',
  backOffMaxSeconds: 60,
  attemptsMax: 12,
  /** One simulated request stands for this many, which arrive and are appended together. */
  weight: 50,
};

export function simulate(options = {}) {
  const settings = { ...DEFAULTS, ...options };
  const cells = Array.from({ length: settings.cells }, (_, at) => new SimulatedCell(settings, at).run());
  const [first, ...others] = cells;
  return { settings, lost: first, others: others.length === 0 ? undefined : sum(others), all: sum(cells) };
}

class SimulatedCell {
  #events = new EventQueue();
  #random;
  #waiting = [];
  #batch;
  /** Entries of `waiting` that still wait. */
  #queue = 0;
  #counts = { requests: 0, accepted: 0, givenUp: 0, attempts: 0, unavailable: 0 };
  #pending = 0;
  #queueMax = 0;
  #pendingMax = 0;
  #latencies = [];
  #seconds = [];
  #lastRepeatedS = 0;

  constructor(settings, index) {
    this.settings = settings;
    this.#random = seededRandom(settings.seed * 1_000 + index);
    this.loss = index === 0 && settings.lossSeconds > 0;
    this.lossEnd = settings.lossAt + settings.lossSeconds;
    this.rate = settings.rate / settings.cells / settings.weight;
  }

  run() {
    this.#arriveAfter(0);
    if (this.loss) {
      this.#events.add(this.settings.lossAt, () => this.#lose());
      this.#events.add(this.lossEnd, (now) => this.#startBatch(now));
    }
    for (let event = this.#events.next(); event; event = this.#events.next()) event.act(event.at);
    return this.#result();
  }

  #arriveAfter(now) {
    const at = now - Math.log(1 - this.#random()) / this.rate;
    if (at >= this.settings.seconds) return;
    this.#events.add(at, () => {
      this.#counts.requests += 1;
      this.#second(at).requests += 1;
      this.#pending += 1;
      this.#pendingMax = Math.max(this.#pendingMax, this.#pending);
      this.#attempt(at, { arrivedAt: at, attempts: 0 });
      this.#arriveAfter(at);
    });
  }

  #attempt(now, request) {
    request.attempts += 1;
    this.#counts.attempts += 1;
    this.#second(now).attempts += 1;
    const isFull = (this.#queue + 1) * this.settings.weight > this.settings.waitingRowsMax;
    if (this.#isKnownToBeLost(now) || isFull) {
      this.#refuse(now, request);
      return;
    }
    const entry = { request, isWaiting: true };
    this.#waiting.push(entry);
    this.#queue += 1;
    this.#queueMax = Math.max(this.#queueMax, this.#queue);
    // Only while there is no primary can a request wait that long: a full queue is appended in less.
    if (this.#isLost(now)) this.#events.add(now + this.settings.deadlineSeconds, (at) => this.#expire(at, entry));
    this.#startBatch(now);
  }

  #startBatch(now) {
    if (this.#batch || this.#isLost(now)) return;
    const { weight, batchRowsMax, batchFixedMs, rowMicros } = this.settings;
    const size = Math.max(1, Math.floor(batchRowsMax / weight));
    // Some have had their answer, because their deadline was over.
    const isWaiting = ({ isWaiting }) => isWaiting;
    let batch = this.#waiting.splice(0, size).filter(isWaiting);
    while (batch.length === 0 && this.#waiting.length > 0) batch = this.#waiting.splice(0, size).filter(isWaiting);
    if (batch.length === 0) return;
    this.#queue -= batch.length;
    this.#batch = batch;
    for (const entry of batch) entry.isWaiting = false;
    const takesS = batchFixedMs / 1_000 + (batch.length * weight * rowMicros) / 1_000_000;
    this.#events.add(now + takesS, (at) => this.#commit(at, batch));
  }

  #commit(now, batch) {
    // The primary was lost meanwhile, and the batch with it.
    if (this.#batch !== batch) return;
    this.#batch = undefined;
    for (const { request } of batch) {
      this.#counts.accepted += 1;
      this.#second(now).accepted += 1;
      this.#latencies.push(now - request.arrivedAt);
      this.#settle(now, request);
    }
    this.#startBatch(now);
  }

  /** What is being appended is sent to the next primary. */
  #lose() {
    const batch = this.#batch ?? [];
    this.#batch = undefined;
    for (const entry of batch) entry.isWaiting = true;
    this.#waiting.unshift(...batch);
    this.#queue += batch.length;
    for (const entry of this.#waiting) {
      this.#events.add(this.settings.lossAt + this.settings.deadlineSeconds, (at) => this.#expire(at, entry));
    }
  }

  #expire(now, entry) {
    if (!entry.isWaiting) return;
    entry.isWaiting = false;
    this.#queue -= 1;
    this.#refuse(now, entry.request);
  }

  /** 503 with Retry-After. */
  #refuse(now, request) {
    this.#counts.unavailable += 1;
    this.#second(now).unavailable += 1;
    const { backOff, backOffMaxSeconds, attemptsMax } = this.settings;
    if (request.attempts >= attemptsMax) {
      this.#counts.givenUp += 1;
      this.#settle(now, request);
      return;
    }
    const doubled = RETRY_AFTER_S * 2 ** (request.attempts - 1);
    const delay = backOff === 'fixed' ? RETRY_AFTER_S : Math.min(doubled, backOffMaxSeconds);
    this.#events.add(now + delay * (0.8 + 0.4 * this.#random()), (at) => this.#attempt(at, request));
  }

  #settle(now, request) {
    this.#pending -= 1;
    if (request.attempts > 1) this.#lastRepeatedS = Math.max(0, now - this.lossEnd);
  }

  #isLost(now) {
    return this.loss && now >= this.settings.lossAt && now < this.lossEnd;
  }

  /** HAProxy answers itself, and goes on for a moment when there is a primary again. */
  #isKnownToBeLost(now) {
    const { lossAt, noticedAfter, readyAfter } = this.settings;
    return this.loss && now >= lossAt + noticedAfter && now < this.lossEnd + readyAfter;
  }

  /** What happened in a second, and what waited at its end. */
  #second(now) {
    const at = Math.floor(now);
    while (this.#seconds.length <= at) {
      const state = { queue: this.#queue, senders: this.#pending };
      this.#seconds.push({ requests: 0, attempts: 0, accepted: 0, unavailable: 0, ...state });
    }
    return Object.assign(this.#seconds[at], { queue: this.#queue, senders: this.#pending });
  }

  #result() {
    const { weight } = this.settings;
    const latencies = Float64Array.from(this.#latencies).sort();
    const percentile = (share) => latencies[Math.min(latencies.length - 1, Math.floor(share * latencies.length))] ?? 0;
    const times = (counts) => Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count * weight]));
    return {
      ...times(this.#counts),
      queueMax: this.#queueMax * weight,
      pendingMax: this.#pendingMax * weight,
      p50: percentile(0.5),
      p99: percentile(0.99),
      slowest: latencies.at(-1) ?? 0,
      recoveredAfter: this.#recoveredAfter(),
      lastRetryAfter: this.#lastRepeatedS,
      seconds: this.#seconds.map(times),
    };
  }

  /** Seconds from the return of the primary until 99 % of the senders that waited then have their answer. */
  #recoveredAfter() {
    if (!this.loss) return 0;
    const usual = Math.max(...this.#seconds.slice(0, this.settings.lossAt).map(({ senders }) => senders), 1);
    const limit = Math.max(usual, this.#pendingMax / 100);
    const after = this.#seconds.findIndex(({ senders }, at) => at >= this.lossEnd && senders <= limit);
    return after === -1 ? Number.NaN : after - this.lossEnd + 1;
  }
}

/** A binary heap. Events of the same time happen in the order in which they were added. */
class EventQueue {
  #heap = [];
  #added = 0;

  add(at, act) {
    const event = { at, order: this.#added, act };
    this.#added += 1;
    let index = this.#heap.push(event) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      if (isBefore(this.#heap[above], event)) break;
      this.#heap[index] = this.#heap[above];
      index = above;
    }
    this.#heap[index] = event;
  }

  next() {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (this.#heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= this.#heap.length) break;
      if (below + 1 < this.#heap.length && isBefore(this.#heap[below + 1], this.#heap[below])) below += 1;
      if (isBefore(last, this.#heap[below])) break;
      this.#heap[index] = this.#heap[below];
      index = below;
    }
    this.#heap[index] = last;
    return first;
  }
}

function isBefore(a, b) {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Totals of cells, and the slowest of them. */
function sum(cells) {
  const total = (name) => cells.reduce((count, cell) => count + cell[name], 0);
  const most = (name) => Math.max(...cells.map((cell) => cell[name]));
  return {
    ...Object.fromEntries(
      ['requests', 'accepted', 'givenUp', 'attempts', 'unavailable'].map((name) => [name, total(name)]),
    ),
    ...Object.fromEntries(['queueMax', 'p99', 'slowest'].map((name) => [name, most(name)])),
  };
}

/** mulberry32 */
function seededRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
