// As `failover`, with an asynchronous standby: what it had not received is lost. Every lost position that a reader had seen must be
// reported, and senders that send the lost conversions again must heal it.
import { setTimeout as sleep } from 'node:timers/promises';
import { failOver } from './harness/failovers.mjs';
import { Testbed } from './harness/testbed.mjs';

const RATE = 150;
const READ_EVERY_MS = 20;
/** The instances look once a second. */
const REPORTED_WITHIN_MS = 30_000;

const REPORTED = `SELECT coalesce(sum((data->>'lostEvents')::integer), 0) FROM cc.events WHERE type = 'log.failed_over.v1'`;

export const switches = ['silent-loss'];

export async function drill({ short, rounds = short ? 6 : 20, seed, log }) {
  const testbed = await Testbed.open({ seed, cluster: { synchronous: false } });
  try {
    const load = testbed.load({ timeoutMs: 10_000, keeps: true });
    load.start(RATE);
    const reader = new Reader(testbed.database);
    const seconds = await failOver(testbed, load, {
      rounds,
      random: testbed.random(),
      log,
      latencyMs: 150,
      before: (primary) => reader.follow(primary),
      after: () => reader.stop(),
    });
    await load.stop();
    const lost = await reader.lost();
    const unreported = await untilReported(testbed.database, lost);
    const reported = Number(await testbed.database.value(REPORTED));
    const orders = await load.lostOrders(testbed.database);
    for (const order of orders) await load.sendAgain(order);
    const rows = await testbed.finish({ sentAgain: orders.map(({ id }) => id) });
    const unexpected = [...load.unexpected].map(([status, count]) => `${count} × ${status}`).join(', ');
    return [
      ...seconds,
      { what: 'events that a reader had seen and that were lost', result: lost.length, ok: lost.length > 0 },
      { what: 'of these, not reported', result: unreported.slice(0, 5).join(', ') || 0, ok: unreported.length === 0 },
      {
        what: 'events reported as lost, at least the acknowledged conversions',
        result: reported,
        ok: reported >= orders.length,
      },
      { what: 'acknowledged, lost and sent again', result: orders.length, ok: orders.length > 0 },
      { what: 'other answers than 200 and 503', result: unexpected || 0, ok: unexpected === '' },
      ...rows,
    ];
  } finally {
    await testbed.close();
  }
}

/** Reads the log of the primary, as any reader does, until it fails. */
class Reader {
  #seen = new Set();
  #reading;
  #stopped = false;

  constructor(database) {
    this.database = database;
  }

  async follow(primary) {
    const client = await this.database.connect(primary);
    this.#stopped = false;
    this.#reading = this.#read(client);
  }

  async #read(client) {
    let after = Number((await client.query('SELECT max(position) FROM cc.events')).rows[0].max);
    while (!this.#stopped) {
      // A frozen server does not answer.
      const answer = client.query('SELECT position FROM cc.events WHERE position > $1 ORDER BY position', [after]);
      const found = await Promise.race([answer.catch(() => undefined), sleep(2_000)]);
      if (!found) break;
      for (const { position } of found.rows) this.#seen.add(Number(position));
      after = Number(found.rows.at(-1)?.position ?? after);
      await sleep(READ_EVERY_MS);
    }
    client.connection.stream.destroy();
  }

  async stop() {
    this.#stopped = true;
    await this.#reading;
  }

  async lost() {
    const rows = await this.database.query(
      `SELECT p::float8 AS position FROM unnest($1::bigint[]) AS p
        WHERE NOT EXISTS (SELECT FROM cc.events WHERE position = p) ORDER BY p`,
      [[...this.#seen]],
    );
    return rows.map(({ position }) => position);
  }
}

/** Positions that no event of the log names as lost. */
async function untilReported(database, lost) {
  const deadlineMs = performance.now() + REPORTED_WITHIN_MS;
  for (;;) {
    const rows = await database.query(
      `SELECT p::float8 AS position FROM unnest($1::bigint[]) AS p WHERE NOT EXISTS (
         SELECT FROM cc.events e, json_array_elements(e.data->'lost') AS r
          WHERE e.type = 'log.failed_over.v1' AND p BETWEEN (r->>'first')::bigint AND (r->>'last')::bigint)`,
      [lost],
    );
    if (rows.length === 0 || performance.now() > deadlineMs) return rows.map(({ position }) => position);
    await sleep(1_000);
  }
}
