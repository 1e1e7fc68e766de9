// (d) A peer: @event-driven-io/emmett-postgresql, an event store for TypeScript. Each conversion is a new stream with one
// event. Default connection pool: a larger one was slower.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { conversionData, conversionPersonal, driveAppends } from './append-loop.mjs';

// It is installed outside the project's node_modules and resolved from there.
const peers = createRequire(join(process.env.PEERS_DIR, 'package.json'));
const { getPostgreSQLEventStore } = await import(pathToFileURL(peers.resolve('@event-driven-io/emmett-postgresql')));

const store = getPostgreSQLEventStore(process.env.DATABASE_URL);
await store.schema.migrate();
await driveAppends((id) =>
  store.appendToStream(`conversion-${id}`, [
    { type: 'conversion.received.v1', data: { ...conversionData(id), personal: conversionPersonal() } },
  ]),
);
await store.close();
