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
const RESERVED_MS = 75_000;
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
 * From a checkpoint on, because the first change of a page after one costs the whole page: this is the dearest stretch
 * between two checkpoints, and what follows it is cheaper.
 */
export async function walRow(service, late, books, context) {
  const { settings, progress, deadline } = context;
  progress(`WAL of ${thousands(settings.walStretch)} conversions …`);
  const before = await withClient(service.server, async (client) => {
    await client.query('CHECKPOINT');
    return (await client.query('SELECT pg_current_wal_lsn() AS lsn')).rows[0].lsn;
  });
  const seconds = Math.max(10, (deadline - RESERVED_FOR_START_MS - performance.now()) / 1000);
  const sample = await fillInbound(service, settings.walStretch, { ...context, seconds });
  books.add(sample);
  const { rows } = await withClient(service.server, (client) =>
    client.query('SELECT (pg_current_wal_lsn() - $1::pg_lsn)::float8 AS bytes', [before]),
  );
  const what = `WAL per conversion, ${thousands(late.conversions)} live claims, first ${thousands(sample.requests)} after a checkpoint`;
  const row = singleRow(what, rows[0].bytes / sample.requests / 1000, 'kB', { atMost: 1.6 });
  return late.complete ? row : unproven(row);
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
