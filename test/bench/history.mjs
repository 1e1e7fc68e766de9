// The history part: how fast the log is read back. The limit is what Node reads of the same rows by COPY and parses.
import { join } from 'node:path';
import { runChild } from './children.mjs';
import { ratioRow, singleRow, spread } from './figures.mjs';
import { growLog } from './grow.mjs';
import { databaseUrl, serverVersion, startThrowAwayServer, withClient } from './postgres.mjs';
import { interleave } from './rounds.mjs';
import { ROOT } from './service.mjs';

const READERS = ['copy', 'export', 'dedup', 'totals'];
const thousands = (count) => count.toLocaleString('en-US');

export async function historyRun(context) {
  const { directory, settings, progress, part } = context;
  const server = await part('the server', () => startThrowAwayServer(join(directory, 'history')));
  if (!server) return [];
  context.cleanUp.push(server.stop);
  context.postgresVersion = await serverVersion(server);
  const env = { DATABASE_URL: databaseUrl(server, server.database), OUT: join(directory, 'events.ndjson') };
  await part('the log', async () => {
    await read('prepare', env);
    await withClient(server, (client) =>
      growLog(client, { events: settings.events, claims: 0 }, (done) =>
        progress(`filling: ${thousands(done)} of ${thousands(settings.events)} events …`),
      ),
    );
  });
  const variants = READERS.map((id) => ({ id, run: () => read(id, env) }));
  const rounds = await part('the rounds', () => interleave(variants, settings.rounds, progress));
  if (!rounds) return [];
  context.notes.push(...rounds.setbacks);
  context.failures.push(...rounds.failures);
  const { samples } = rounds;
  context.samples = samples;
  const [copy, exported, claims, totals] = READERS.map((id) => samples[id]);
  const columns = (of) => ({ rate: spread(of.filter(Boolean).map(({ rate }) => rate))?.median });
  const memory = (what, of, target) =>
    singleRow(what, spread(of.filter(Boolean).map(({ rss }) => rss))?.max, 'MB', target);
  const size = `${thousands(settings.events)} events`;
  return [
    { what: `COPY to Node, and parsing, ${size}`, ...columns(copy) },
    ratioRow('events export, ndjson into a file: to that', exported, copy, {
      target: { atLeast: 0.8 },
      columns: columns(exported),
    }),
    ratioRow('projections rebuild dedup, a row for every event: to that', claims, copy, {
      target: { atLeast: 0.4 },
      columns: columns(claims),
    }),
    ratioRow('projections rebuild totals, a row for every minute: to that', totals, copy, {
      target: { atLeast: 0.4 },
      columns: columns(totals),
    }),
    memory(`highest RSS of the export, ${size}`, exported, { atMost: 150 }),
    memory(`highest RSS of a rebuild, ${size}`, [...claims, ...totals], { atMost: 150 }),
  ];
}

/** In a process of its own, as the command line runs it: its memory is its own, too. */
async function read(what, env) {
  const reader = join(ROOT, 'test/bench/history-reader.mjs');
  return JSON.parse(await runChild(what, process.execPath, [reader, what], { env, cwd: ROOT }));
}
