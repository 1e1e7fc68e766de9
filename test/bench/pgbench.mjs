// pgbench, PostgreSQL's benchmark, as the reference for one row per commit: 50 clients, each with a prepared insert.
import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { conversionData, conversionPersonal } from './append-loop.mjs';
import { runChild } from './children.mjs';
import { hasCounters, treeCpuSeconds } from './counters.mjs';
import { sample } from './measure.mjs';

export const PGBENCH_CLIENTS = 50;
const DEBIAN = '/usr/lib/postgresql';

export function findPgbench() {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
  ];
  return folders.map((folder) => join(folder, 'pgbench')).find((file) => existsSync(file));
}

/** The minimal table of an event log: a position, a unique stream and a JSON document. */
export async function preparePgbench(database, directory) {
  await database.query(`
    CREATE TABLE IF NOT EXISTS appended (
      position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      stream   uuid NOT NULL UNIQUE,
      type     text NOT NULL,
      time     timestamptz NOT NULL DEFAULT now(),
      data     json NOT NULL
    )`);
  const script = join(directory, 'append.sql');
  const insert =
    "INSERT INTO appended (stream, type, data) VALUES (gen_random_uuid(), 'conversion.received.v1', :data::json)";
  await writeFile(script, `${insert}\n`);
  return script;
}

export async function measurePgbench({ pgbench, script, server, database, seconds }) {
  const data = JSON.stringify({
    ...conversionData('0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e10'),
    personal: conversionPersonal(),
  });
  const read = () => ({ postgres: hasCounters ? treeCpuSeconds(server.postmaster) : undefined });
  const before = read();
  const output = await runChild('pgbench', pgbench, [
    ...[
      '--no-vacuum',
      '--protocol=prepared',
      `--client=${PGBENCH_CLIENTS}`,
      '--jobs=2',
      `--time=${Math.ceil(seconds)}`,
    ],
    ...[`--host=${server.host}`, `--port=${server.port}`, `--username=${server.user}`],
    ...[`--define=data=${data}`, `--file=${script}`, database],
  ]);
  return sample({ ...parsePgbench(output), seconds }, before, read());
}

export function parsePgbench(output) {
  const number = (pattern) => Number(pattern.exec(output)?.[1] ?? Number.NaN);
  return {
    rate: number(/^tps = ([\d.]+)/m),
    requests: number(/actually processed: (\d+)/),
    failures: number(/failed transactions: (\d+)/) || 0,
  };
}
