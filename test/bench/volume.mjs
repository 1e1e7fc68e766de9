// What only shows after many conversions: memory, WAL and completeness of the log. Then the stop and a second start.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCounters, rssMegabytes, treeCpuSeconds } from './counters.mjs';
import { SKIPPED, singleRow } from './figures.mjs';
import { withClient } from './postgres.mjs';
import { startWithNpm, storedConversions } from './service.mjs';
import { fillInbound } from './variants.mjs';

const FILL_SLICE = 50_000;
const SETTLE_MS = 1_000;
/** Time reserved after filling the log for the WAL measurement, stop, start and idling, and of that without the first. */
const RESERVED_MS = 180_000;
const RESERVED_FOR_START_MS = 110_000;
/** Longer than autovacuum takes to find the tables that were filled. */
const IDLE_AFTER_MS = 60_000;
const IDLE_MS = 30_000;
const thousands = (count) => count.toLocaleString('en-US');

/** Counts the conversions sent to the service and those it accepted. */
export class Tally {
  sent = 0;
  accepted = 0;

  add(sample) {
    this.sent += sample.sent;
    this.accepted += sample.answered - sample.non200 - sample.wrong;
  }
}

/** Fills the log up to `count` conversions and reads the service's memory. Stops early when the time runs out. */
export async function fillTo(service, count, tally, context) {
  const { progress, deadline } = context;
  while (tally.accepted < count && performance.now() < deadline - RESERVED_MS) {
    progress(`filling the log: ${thousands(tally.accepted)} of ${thousands(count)} conversions …`);
    const sample = await fillInbound(service, Math.min(FILL_SLICE, count - tally.accepted), context);
    tally.add(sample);
    if (sample.errors > 0) throw new Error(`${sample.errors} conversions were not accepted: ${sample.stderr}`);
  }
  await sleep(SETTLE_MS);
  const rss = hasCounters ? rssMegabytes(service.pid) : undefined;
  return { conversions: tally.accepted, complete: tally.accepted >= count, rss };
}

export function memoryRows(early, late) {
  const row = (what, value, target) => ({
    ...singleRow(what, value, 'MB', target),
    ...(hasCounters ? {} : { figure: SKIPPED }),
  });
  const first = row(`RSS of the service after ${thousands(early.conversions)} conversions`, early.rss);
  const last = row(`RSS after ${thousands(late.conversions)}`, late.rss, { atMost: 220 });
  const between = row('↳ growth between the two', hasCounters ? late.rss - early.rss : undefined, { atMost: 20 });
  return late.complete ? [first, last, between] : [first, unproven(last), unproven(between)];
}

/** With fewer conversions than the target requires, its result is unknown. */
const unproven = (row) => ({ ...row, met: undefined });

/**
 * The first change of a page after a checkpoint writes the whole page to the WAL (full_page_writes). Two measurements, one
 * directly after a checkpoint and one later, give the cost of these full-page images. Spread over the conversions that
 * the server's settings allow between two checkpoints, they give the average.
 */
export async function walRows(service, late, tally, context) {
  const { settings, progress } = context;
  progress(`WAL of ${thousands(settings.walConversions)} conversions after a checkpoint …`);
  await withClient(service.server, (client) => client.query('CHECKPOINT'));
  const afterCheckpoint = await walOf(service, settings.walConversions, tally, context);
  progress(`WAL of ${thousands(settings.walConversions / 2)} further conversions …`);
  const later = await walOf(service, settings.walConversions / 2, tally, context);
  const cycleBytes = await withClient(service.server, checkpointBytes);
  const fullPageBytes = Math.max(0, afterCheckpoint.perConversion - later.perConversion) * afterCheckpoint.conversions;
  const average = (later.perConversion * cycleBytes) / (cycleBytes - fullPageBytes);
  const claims = `${thousands(late.conversions)} live dedup claims`;
  const rows = [
    singleRow(
      `WAL per conversion, ${claims}, over a checkpoint cycle of ${(cycleBytes / 1e9).toFixed(1)} GB`,
      average / 1000,
      'kB',
      { atMost: 1.75 },
    ),
    singleRow(
      `↳ the first ${thousands(afterCheckpoint.conversions)} after a checkpoint`,
      afterCheckpoint.perConversion / 1000,
      'kB',
    ),
  ];
  return late.complete ? rows : rows.map(unproven);
}

async function walOf(service, conversions, tally, context) {
  const position = (client) => client.query('SELECT pg_current_wal_lsn() AS lsn');
  const before = (await withClient(service.server, position)).rows[0].lsn;
  const seconds = Math.max(10, (context.deadline - RESERVED_FOR_START_MS - performance.now()) / 1000);
  const sample = await fillInbound(service, conversions, { ...context, seconds });
  tally.add(sample);
  const { rows } = await withClient(service.server, (client) =>
    client.query('SELECT (pg_current_wal_lsn() - $1::pg_lsn)::float8 AS bytes', [before]),
  );
  return { conversions: sample.requests, perConversion: rows[0].bytes / sample.requests };
}

/** The WAL volume after which the server makes a checkpoint. */
async function checkpointBytes(client) {
  const { rows } = await client.query(
    `SELECT pg_size_bytes(current_setting('max_wal_size')) / (1 + current_setting('checkpoint_completion_target')::float8) AS bytes`,
  );
  return rows[0].bytes;
}

/** Every accepted conversion must be in the log, and nothing that was not sent. */
export async function completenessRow(service, { sent, accepted }) {
  const stored = await storedConversions(service);
  const deviation = Math.max(0, accepted - stored) + Math.max(0, stored - sent);
  const what = `missing or surplus in the log (${thousands(sent)} sent, ${thousands(accepted)} accepted, ${thousands(stored)} stored)`;
  return singleRow(what, deviation, 'count', { atMost: 0 });
}

export async function startAndStopRows(service, { directory, progress, failures }) {
  progress('stop and second start …');
  const stop = await service.stop();
  if (stop.code !== 0) failures.push(`the service exited with code ${stop.code}`);
  const again = await startWithNpm(join(directory, 'service'));
  progress('an idle service …');
  const idle = await idleRow(again);
  await again.stop();
  return [
    singleRow('second npm start until /readyz answers', again.startMs / 1000, 's', { atMost: 5 }),
    singleRow('stop when idle', stop.ms / 1000, 's', { atMost: 2 }),
    idle,
  ];
}

/** With the management API and the database, which are children of the service. */
async function idleRow(service) {
  const what = 'CPU of the idle service with its database';
  if (!hasCounters) return { what, figure: SKIPPED };
  await sleep(IDLE_AFTER_MS);
  const [before, beganMs] = [treeCpuSeconds(service.pid), performance.now()];
  await sleep(IDLE_MS);
  const ofCore = (treeCpuSeconds(service.pid) - before) / ((performance.now() - beganMs) / 1_000);
  return singleRow(`${what}, of a core`, ofCore * 100, '%', { atMost: 1 });
}
