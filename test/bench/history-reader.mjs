// Reads the whole log once with one of the compared methods and prints its rate and memory use.
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { allProjections } from '../../dist/app/projections.js';
import { exportEvents } from '../../dist/history/event-export.js';
import { EventFilter } from '../../dist/history/event-filter.js';
import { ExportFile } from '../../dist/history/export-file.js';
import { FORMATS } from '../../dist/history/export-formats.js';
import { Sealer } from '../../dist/kernel/sealing.js';
import { copyOut } from '../../dist/log/copy.js';
import { PostgresEventLog } from '../../dist/log/postgres-event-log.js';
import { ProjectionRunner } from '../../dist/log/projections/projection-runner.js';
import { Postgres } from '../../dist/postgres/postgres.js';
import { SiteSecrets } from '../../dist/sites/site-secrets.js';

const { DATABASE_URL, OUT } = process.env;
const SECRET_KEY = Buffer.alloc(32, 7);

async function rebuild(name, { postgres, secrets, log }) {
  await new ProjectionRunner(postgres, allProjections(secrets)).rebuild(name);
  return log.head();
}

const READ = {
  prepare: async ({ secrets }) => {
    await secrets.ensureDedupSecret('localhost');
    return 0;
  },

  /** The upper bound: reads the same rows as text, splits them and parses their JSON. */
  copy: async ({ postgres }) => {
    const client = await postgres.connect('bench');
    let events = 0;
    let last;
    await copyOut(
      client,
      `COPY (SELECT e.position, e.id, e.category, e.stream, e.version, e.type, e.site, e.time, e.actor, e.data,
                    encode(p.subject, 'hex'), p.data
               FROM cc.events e LEFT JOIN cc.personal p ON p.position = e.position ORDER BY e.position) TO STDOUT`,
      (line) => {
        const fields = line.toString('utf8', 0, line.length - 1).split('\t');
        last = { fields, data: JSON.parse(fields[9]), personal: JSON.parse(fields[11]) };
        events += 1;
      },
    );
    await client.end();
    return last && events;
  },

  export: async ({ postgres, log }) => {
    const client = await postgres.connect('bench');
    const filter = await EventFilter.open({ log }, {});
    const file = await ExportFile.open(OUT, randomBytes(8).toString('hex'));
    const write = (bytes, checkpoint) => file.write(bytes, checkpoint);
    const pageLimits = { events: 10_000, bytes: 16e6 };
    const job = {
      client,
      filter,
      format: FORMATS.ndjson(),
      pageLimits,
      resumeFrom: undefined,
      write,
      progress: () => {},
    };
    const events = await exportEvents(job);
    await file.finish();
    await client.end();
    await rm(OUT);
    return events;
  },

  dedup: (dependencies) => rebuild('dedup', dependencies),
  totals: (dependencies) => rebuild('totals', dependencies),
};

const postgres = await Postgres.open({ databaseUrl: DATABASE_URL, dataDir: '.', onMessage: () => {} });
const log = new PostgresEventLog(postgres);
const secrets = new SiteSecrets(postgres.pool, new Sealer(SECRET_KEY));
const started = performance.now();
const events = await READ[process.argv[2]]({ postgres, log, secrets });
const seconds = (performance.now() - started) / 1000;
await log.close();
await postgres.close();
console.log(JSON.stringify({ events, rate: events / seconds, rss: process.resourceUsage().maxRSS / 1024 }));
