// A TCP proxy between one instance and PostgreSQL, with faults: latency, resets, lost answers and held-back bytes.
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The purpose of a connection of the service, in its startup message. */
const PURPOSE = /application_name\0cc\d*-([\w-]+)\0/;
const CLOSE_AFTER_MS = 5_000;

export class TcpProxy {
  #links = new Set();
  #server;
  #held;
  latencyMs = 0;
  /** Answers of the server are dropped, and the connection is reset. */
  losesAnswers = false;

  static async start(socket) {
    const proxy = new TcpProxy();
    proxy.#server = createServer((client) => proxy.#link(client, socket));
    await new Promise((listening) => proxy.#server.listen(0, '127.0.0.1', listening));
    proxy.port = proxy.#server.address().port;
    return proxy;
  }

  /**
   * From now on holds back what connections of this purpose send, also those opened meanwhile. The returned function
   * delivers the bytes, also those of connections that the service has abandoned. It returns how many there were.
   */
  hold(purpose) {
    const hold = { purpose, links: new Set() };
    this.#held = hold;
    return () => {
      if (this.#held === hold) this.#held = undefined;
      let bytes = 0;
      for (const link of hold.links) {
        for (const chunk of link.held) {
          bytes += chunk.length;
          link.upstream.write(chunk);
        }
        link.held = undefined;
        // The server must get the time to execute what it received.
        if (link.clientClosed) setTimeout(() => link.upstream.destroy(), CLOSE_AFTER_MS).unref();
      }
      return bytes;
    };
  }

  /** Resets all connections. */
  reset() {
    for (const { client, upstream } of this.#links) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  async stop() {
    this.#server.close();
    for (const { client, upstream } of this.#links) {
      client.destroy();
      upstream.destroy();
    }
  }

  #link(client, socket) {
    const upstream = connect(socket);
    const link = { client, upstream, purpose: undefined, held: undefined, clientClosed: false };
    this.#links.add(link);
    client.setNoDelay(true);
    client.on('data', (chunk) => void this.#forward(link, chunk));
    upstream.on('data', (chunk) => void this.#answer(link, chunk));
    for (const end of [client, upstream]) end.on('error', () => {});
    client.on('close', () => {
      link.clientClosed = true;
      if (!link.held) void this.#afterLatency(link, 'closing', () => upstream.end());
    });
    upstream.on('close', () => {
      this.#links.delete(link);
      client.destroy();
    });
  }

  async #forward(link, chunk) {
    link.purpose ??= PURPOSE.exec(chunk.toString('latin1'))?.[1];
    const hold = this.#held;
    if (hold && !link.held && link.purpose === hold.purpose) {
      link.held = [];
      hold.links.add(link);
    }
    if (link.held) link.held.push(chunk);
    else await this.#afterLatency(link, 'forwarding', () => link.upstream.write(chunk));
  }

  async #answer(link, chunk) {
    if (this.losesAnswers && link.purpose === 'append') {
      link.client.resetAndDestroy();
      link.upstream.destroy();
      return;
    }
    await this.#afterLatency(link, 'answering', () => link.client.write(chunk));
  }

  /** Keeps the order of the chunks of a direction, whatever the latency is meanwhile. */
  async #afterLatency(link, direction, act) {
    const before = link[direction];
    if (!before && this.latencyMs === 0) return act();
    const turn = Promise.all([before, sleep(this.latencyMs)]).then(act);
    link[direction] = turn;
    await turn;
    if (link[direction] === turn) link[direction] = undefined;
  }
}
