// Our log's append. Alone: the same document as the peers store, one event of a new stream. With `APPEND=conversion`: as the
// inbound path stores it, with its dedup claim, its personal row and its order number to be found by.
import { randomUUID } from 'node:crypto';
import { uuidv7 } from '../../dist/kernel/uuid.js';
import { PostgresEventLog } from '../../dist/log/postgres-event-log.js';
import { Postgres } from '../../dist/postgres/postgres.js';
import { conversionData, conversionPersonal, driveAppends } from './append-loop.mjs';

const DEDUP_WINDOW_MS = 24 * 60 * 60 * 1000;
const say = (line) => process.stderr.write(`${line}\n`);

const event = (data) => ({
  events: [{ type: 'conversion.received.v1', data: { ...data, personal: conversionPersonal() } }],
});
const conversion = (data) => ({
  events: [{ type: 'conversion.received.v1', data, personal: conversionPersonal(), reference: data.orderId }],
  claim: { key: randomUUID(), windowMs: DEDUP_WINDOW_MS, weak: false },
});
const content = process.env.APPEND === 'conversion' ? conversion : event;

const postgres = await Postgres.open({ databaseUrl: process.env.DATABASE_URL, dataDir: '', onMessage: say });
const log = new PostgresEventLog(postgres, { onMessage: say });
await driveAppends(async () => {
  const stream = uuidv7();
  const data = conversionData(stream);
  const outcome = await log.append({
    category: 'conversion',
    stream,
    expected: 'new',
    site: 'localhost',
    actor: `key:${data.keyId}`,
    ...content(data),
  });
  if (outcome.status !== 'appended') throw new Error(`not appended: ${outcome.status}`);
});
await log.close();
await postgres.close();
