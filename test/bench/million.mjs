// What only shows after many conversions: memory, WAL, whether everything accepted is there. Then stop and second start.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCounters, rssMegabytes } from './counters.mjs';
import { LEFT_OUT, singleRow } from './figures.mjs';
import { withClient } from './postgres.mjs';
import { startWithNpm, storedConversions } from './service.mjs';
import { fillInbound } from './variants.mjs';

const FILL_SLICE = 50_000;
const SETTLE_MS = 1_000;
/** What must still fit into the time after the log has been filled: the WAL stretch, stop and start; of it, stop and start. */
const RESERVED_MS = 90_000;
const RESERVED_FOR_START_MS = 20_000;
const thousands = (count) => count.toLocaleString('en-US');

/** What was sent to the service in all, and what of it was accepted. */
export class Books {
  sent = 0;
  accepted = 0;

  add(sample) {
    this.sent += sample.sent;
    this.accepted += sample.answered - sample.non200 - sample.wrong;
  }
}

/** Brings the service to `count` conversions in all and reads its memory. Stops early rather than run out of time. */
export async function fillTo(service, count, books, context) {
  const { progress, deadline } = context;
  while (books.accepted < count && performance.now() < deadline - RESERVED_MS) {
    progress(`filling the log: ${thousands(books.accepted)} of ${thousands(count)} conversions …`);
    const sample = await fillInbound(service, Math.min(FILL_SLICE, count - books.accepted), context);
    books.add(sample);
    if (sample.errors > 0) throw new Error(`${sample.errors} conversions were not accepted: ${sample.said}`);
  }
  await sleep(SETTLE_MS);
  const rss = hasCounters ? rssMegabytes(service.pid) : undefined;
  return { conversions: books.accepted, complete: books.accepted >= count, rss };
}

export function memoryRows(early, late) {
  const row = (what, value, target) => ({
    ...singleRow(what, value, 'MB', target),
    ...(hasCounters ? {} : { figure: LEFT_OUT }),
  });
  const first = row(`RSS of the service after ${thousands(early.conversions)} conversions`, early.rss);
  const last = row(`RSS after ${thousands(late.conversions)}`, late.rss, { atMost: 200 });
  const between = row('↳ growth between the two', hasCounters ? late.rss - early.rss : undefined, { atMost: 20 });
  return late.complete ? [first, last, between] : [first, unproven(last), unproven(between)];
}

/** Fewer conversions than a target speaks of prove nothing about it. */
const unproven = (row) => ({ ...row, met: undefined });

/**
 * The first change of a page after a checkpoint costs the whole page, so WAL is dearest right after one. Two stretches
 * are measured, one from a checkpoint on and one after it; what the first costs more are those whole pages. Spread over
 * as many conversions as the server's own settings let pass between two checkpoints, they give the average.
 */
export async function walRows(service, late, books, context) {
  const { settings, progress } = context;
  progress(`WAL of ${thousands(settings.walStretch)} conversions after a checkpoint …`);
  await withClient(service.server, (client) => client.query('CHECKPOINT'));
  const dear = await walOf(service, settings.walStretch, books, context);
  progress(`WAL of ${thousands(settings.walStretch / 2)} conversions later on …`);
  const cheap = await walOf(service, settings.walStretch / 2, books, context);
  const cycleBytes = await withClient(service.server, checkpointBytes);
  const wholePages = Math.max(0, dear.perConversion - cheap.perConversion) * dear.conversions;
  const average = (cheap.perConversion * cycleBytes) / (cycleBytes - wholePages);
  const claims = `${thousands(late.conversions)} live claims`;
  const rows = [
    singleRow(
      `WAL per conversion, ${claims}, over a checkpoint cycle of ${(cycleBytes / 1e9).toFixed(1)} GB`,
      average / 1000,
      'kB',
      { atMost: 1.6 },
    ),
    singleRow(
      `↳ the first ${thousands(dear.conversions)} after a checkpoint, the dearest`,
      dear.perConversion / 1000,
      'kB',
    ),
  ];
  return late.complete ? rows : rows.map(unproven);
}

async function walOf(service, conversions, books, context) {
  const position = (client) => client.query('SELECT pg_current_wal_lsn() AS lsn');
  const before = (await withClient(service.server, position)).rows[0].lsn;
  const seconds = Math.max(10, (context.deadline - RESERVED_FOR_START_MS - performance.now()) / 1000);
  const sample = await fillInbound(service, conversions, { ...context, seconds });
  books.add(sample);
  const { rows } = await withClient(service.server, (client) =>
    client.query('SELECT (pg_current_wal_lsn() - $1::pg_lsn)::float8 AS bytes', [before]),
  );
  return { conversions: sample.requests, perConversion: rows[0].bytes / sample.requests };
}

/** How much WAL the server lets pass before it makes a checkpoint because of it. */
async function checkpointBytes(client) {
  const { rows } = await client.query(
    `SELECT pg_size_bytes(current_setting('max_wal_size')) / (1 + current_setting('checkpoint_completion_target')::float8) AS bytes`,
  );
  return rows[0].bytes;
}

/** Every conversion that was accepted must be in the log, and nothing that was not sent. */
export async function booksRow(service, { sent, accepted }) {
  const stored = await storedConversions(service);
  const wrong = Math.max(0, accepted - stored) + Math.max(0, stored - sent);
  const what = `missing in the log (${thousands(sent)} sent, ${thousands(accepted)} accepted, ${thousands(stored)} stored)`;
  return singleRow(what, wrong, 'count', { atMost: 0 });
}

export async function startAndStopRows(service, { directory, progress, failures }) {
  progress('stop and second start …');
  const stop = await service.stop();
  if (stop.code !== 0) failures.push(`the service ended with exit code ${stop.code}`);
  const again = await startWithNpm(join(directory, 'service'));
  await again.stop();
  return [
    singleRow('second npm start until /readyz answers', again.startMs / 1000, 's', { atMost: 5 }),
    singleRow('stop when idle', stop.ms / 1000, 's', { atMost: 2 }),
  ];
}
