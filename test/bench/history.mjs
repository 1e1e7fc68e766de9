// The history part: how fast export and rebuild read the log, compared with Node reading the same rows by COPY and parsing them.
import { join } from 'node:path';
import { runChild } from './children.mjs';
import { ratioRow, singleRow, spread } from './figures.mjs';
import { fillLog } from './fill-log.mjs';
import { databaseUrl, serverVersion, startTemporaryServer, withClient } from './postgres.mjs';
import { interleave } from './rounds.mjs';
import { ROOT } from './service.mjs';

const READERS = ['copy', 'export', 'dedup', 'totals'];
const thousands = (count) => count.toLocaleString('en-US');

export async function historyRun(context) {
  const { directory, settings, progress, part } = context;
  const server = await part('the server', () => startTemporaryServer(join(directory, 'history')));
  if (!server) return [];
  context.cleanUp.push(server.stop);
  context.postgresVersion = await serverVersion(server);
  const env = { DATABASE_URL: databaseUrl(server, server.database), OUT: join(directory, 'events.ndjson') };
  await part('the log', async () => {
    await read('prepare', env);
    await withClient(server, (client) =>
      fillLog(client, { events: settings.events, claims: 0 }, (done) =>
        progress(`filling: ${thousands(done)} of ${thousands(settings.events)} events …`),
      ),
    );
  });
  const variants = READERS.map((id) => ({ id, run: () => read(id, env) }));
  const rounds = await part('the rounds', () => interleave(variants, settings.rounds, progress));
  if (!rounds) return [];
  context.notes.push(...rounds.roundErrors);
  context.failures.push(...rounds.failures);
  const { samples } = rounds;
  context.samples = samples;
  const [copy, exported, claims, totals] = READERS.map((id) => samples[id]);
  const columns = (of) => ({ rate: spread(of.filter(Boolean).map(({ rate }) => rate))?.median });
  const memory = (what, of, target) =>
    singleRow(what, spread(of.filter(Boolean).map(({ rss }) => rss))?.max, 'MB', target);
  const size = `${thousands(settings.events)} events`;
  return [
    { what: `COPY to Node with parsing, ${size}`, ...columns(copy) },
    ratioRow('events export, NDJSON to a file: ratio to COPY', exported, copy, {
      target: { atLeast: 0.8 },
      columns: columns(exported),
    }),
    ratioRow('projections rebuild dedup, one row per event: ratio to COPY', claims, copy, {
      target: { atLeast: 0.4 },
      columns: columns(claims),
    }),
    ratioRow('projections rebuild totals, one row per minute: ratio to COPY', totals, copy, {
      target: { atLeast: 0.4 },
      columns: columns(totals),
    }),
    memory(`peak RSS of the export, ${size}`, exported, { atMost: 150 }),
    memory(`peak RSS of a rebuild, ${size}`, [...claims, ...totals], { atMost: 150 }),
  ];
}

/** In a separate process, as on the command line, so that its memory is measured alone. */
async function read(what, env) {
  const reader = join(ROOT, 'test/bench/history-reader.mjs');
  return JSON.parse(await runChild(what, process.execPath, [reader, what], { env, cwd: ROOT }));
}
