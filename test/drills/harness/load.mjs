// The load client: posts conversions over keep-alive connections with bounded concurrency, repeats what was not
// acknowledged, and records every order in the ledger. Plain sockets, because an HTTP client uses several times the CPU.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const TICK_MS = 20;
const BACKOFF_MS = [100, 400];
/** Latencies in steps of 5 %: enough for percentiles, and small whatever the number of requests. */
const STEP = Math.log(1.05);

/** Personal data that must not occur in any log, event or file of the service. */
export const CANARY = 'canary-raw.example';

export class Load {
  #idle = new Map();
  #sockets = new Set();
  #running = new Set();
  #timer;
  #orders = 0;
  #recent = [];
  #acknowledged = [];
  #latencies = [];
  stopped = false;
  counts = { orders: 0, acknowledged: 0, unknown: 0, refused: 0, attempts: 0, timeouts: 0, resets: 0, unavailable: 0 };
  /** Statuses other than 2xx and 503, with how often. */
  unexpected = new Map();
  withoutRetryAfter = 0;

  /**
   * @param targets returns the ports of the instances that currently receive conversions
   * @param keeps acknowledged orders are kept, for `lostOrders`
   * @param repeats share of acknowledged orders that are posted once more, as a sender does that lost the answer
   */
  constructor({
    ledger,
    prefix,
    site,
    targets,
    random,
    timeoutMs = 5_000,
    concurrency = 64,
    repeats = 0,
    keeps = false,
  }) {
    Object.assign(this, { ledger, prefix, site, targets, random, timeoutMs, concurrency, repeats, keeps });
  }

  /** Posts at this rate until stopped; less while `concurrency` requests are open. */
  start(rate) {
    let due = 0;
    let lastMs = performance.now();
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      due = Math.min(due + ((nowMs - lastMs) / 1_000) * rate, rate);
      lastMs = nowMs;
      while (due >= 1 && this.#running.size < this.concurrency) {
        due -= 1;
        this.#track(this.#next());
      }
    }, TICK_MS);
  }

  /** Ends the load; resolves when every order has its final class. */
  async stop() {
    clearInterval(this.#timer);
    this.stopped = true;
    await Promise.all(this.#running);
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Posts that many new orders to one port, with a timeout of their own. Resolves with their ends when all are answered. */
  post(port, count, timeoutMs, retries = 'any') {
    return Promise.all(
      Array.from({ length: count }, () => this.#track(this.#deliver(this.newOrder(), { port, timeoutMs, retries }))),
    );
  }

  /** Posts an order once. Its class is recorded by the caller. */
  async attempt(order, port, timeoutMs = this.timeoutMs) {
    this.counts.attempts += 1;
    const answer = await this.#request(port, order.request, timeoutMs);
    if (answer.status === undefined) this.counts[answer.kind] += 1;
    else if (answer.status === 503) this.counts.unavailable += 1;
    if (answer.status === 503 && !answer.retryAfter) this.withoutRetryAfter += 1;
    return answer;
  }

  newOrder() {
    this.#orders += 1;
    const id = `${this.prefix}-${String(this.#orders).padStart(8, '0')}`;
    const value = 1 + (this.#orders % 9_999) / 100;
    const body = JSON.stringify({ email: `${id}@${CANARY}`, event: 'purchase', value, currency: 'EUR', orderId: id });
    const { host, key } = this.site;
    const request =
      `POST /__cc/inbound HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nX-CC-Api-Key: ${key}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    return { id, value, request };
  }

  record(order, end, attempts) {
    this.counts.orders += 1;
    this.counts[end] += 1;
    this.ledger.add(order.id, this.site.host, order.value, end, attempts);
  }

  /** Orders that were acknowledged and are not in the log. */
  async lostOrders(database) {
    const rows = await database.query(`SELECT reference FROM cc.events WHERE type = 'conversion.received.v1'`);
    const stored = new Set(rows.map(({ reference }) => reference));
    return this.#acknowledged.filter(({ id }) => !stored.has(id));
  }

  /** As a sender does that is told that a conversion was lost. */
  async sendAgain(order) {
    for (;;) {
      const ports = this.targets();
      const { status } = await this.attempt(order, ports[Math.floor(this.random() * ports.length)]);
      if (status === 200) return;
      if (status !== undefined && status !== 503) this.#unexpected(status);
      await sleep(BACKOFF_MS[0]);
    }
  }

  percentile(share) {
    const total = this.#latencies.reduce((sum, count = 0) => sum + count, 0);
    let seen = 0;
    for (const [step, count = 0] of this.#latencies.entries()) {
      seen += count;
      if (seen >= total * share) return Math.round(Math.exp(step * STEP));
    }
    return 0;
  }

  #track(work) {
    this.#running.add(work);
    return work.finally(() => this.#running.delete(work));
  }

  #next() {
    if (this.#recent.length === 0 || this.random() >= this.repeats) return this.#deliver(this.newOrder());
    const order = this.#recent[Math.floor(this.random() * this.#recent.length)];
    return this.#repeat(order);
  }

  async #repeat(order) {
    const ports = this.targets();
    if (ports.length > 0) await this.attempt(order, ports[Math.floor(this.random() * ports.length)]);
  }

  /** Posts an order until it is acknowledged, refused, or the load ends. */
  async #deliver(order, { port, timeoutMs, retries = 'any' } = {}) {
    let isUnknown = false;
    for (let attempts = 1; ; attempts += 1) {
      const ports = this.targets();
      const target = attempts === 1 && port !== undefined ? port : ports[Math.floor(this.random() * ports.length)];
      if (target !== undefined) {
        const { status, kind } = await this.attempt(order, target, attempts === 1 ? timeoutMs : undefined);
        if (status >= 200 && status < 300) return this.#end(order, 'acknowledged', attempts);
        if (status >= 400 && status < 500 && !isUnknown) {
          this.#unexpected(status);
          return this.#end(order, 'refused', attempts);
        }
        if (status !== undefined && status !== 503) this.#unexpected(status);
        // A refused connection carried no request.
        if (kind !== 'refusedConnection') isUnknown = true;
      }
      if (this.stopped || retries === 'none') return this.#end(order, isUnknown ? 'unknown' : 'refused', attempts);
      await sleep(BACKOFF_MS[0] + this.random() * (BACKOFF_MS[1] - BACKOFF_MS[0]));
    }
  }

  #end(order, end, attempts) {
    this.record(order, end, attempts);
    if (end === 'acknowledged' && this.keeps) this.#acknowledged.push(order);
    if (end === 'acknowledged' && this.repeats > 0) {
      this.#recent.push(order);
      if (this.#recent.length > 1_000) this.#recent.shift();
    }
    return { order, end };
  }

  #unexpected(status) {
    this.unexpected.set(status, (this.unexpected.get(status) ?? 0) + 1);
  }

  #request(port, text, timeoutMs = this.timeoutMs) {
    return new Promise((resolve) => {
      const startedMs = performance.now();
      const socket = this.#idle.get(port)?.pop() ?? this.#open(port);
      let received = '';
      const finish = (answer) => {
        clearTimeout(timer);
        socket.removeAllListeners('data').removeAllListeners('close');
        if (answer.keep) this.#idle.get(port)?.push(socket) ?? this.#idle.set(port, [socket]);
        else socket.destroy();
        // An idle connection that the server closes is not used again.
        socket.once('close', () => this.#drop(port, socket));
        if (answer.status !== undefined) {
          const step = Math.max(0, Math.round(Math.log(performance.now() - startedMs) / STEP));
          this.#latencies[step] = (this.#latencies[step] ?? 0) + 1;
        }
        resolve(answer);
      };
      const timer = setTimeout(() => finish({ kind: 'timeouts' }), timeoutMs);
      socket.on('data', (chunk) => {
        received += chunk;
        const headEnd = received.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const head = received.slice(0, headEnd);
        const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
        if (received.length < headEnd + 4 + length) return;
        finish({
          status: Number(head.slice(9, 12)),
          body: received.slice(headEnd + 4),
          retryAfter: /^retry-after:/im.test(head),
          keep: !/^connection: *close/im.test(head),
        });
      });
      socket.once('close', () => finish({ kind: socket.neverConnected ? 'refusedConnection' : 'resets' }));
      socket.write(text);
    });
  }

  #open(port) {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true).setEncoding('latin1');
    socket.neverConnected = true;
    socket.once('connect', () => {
      socket.neverConnected = false;
    });
    socket.on('error', () => {});
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }

  #drop(port, socket) {
    this.#sockets.delete(socket);
    const idle = this.#idle.get(port) ?? [];
    const index = idle.indexOf(socket);
    if (index >= 0) idle.splice(index, 1);
  }
}
