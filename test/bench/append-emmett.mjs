// (d) A peer: @event-driven-io/emmett-postgresql, an event store a TypeScript team would pick. Each conversion is a new
// stream of one event. Its own connection pool settings: a larger pool was slower.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { conversionData, conversionPersonal, driveAppends } from './append-loop.mjs';

// It is installed outside the project's own packages, so it is found from there and not from here.
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
