import { randomBytes } from 'node:crypto';
import { Sealer } from '../../src/kernel/sealing.js';
import { readSettings } from '../../src/kernel/settings.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { EventLog } from '../../src/log/event-log.js';
import { OutboundSync } from '../../src/outbound/outbound-sync.js';
import { openOutgoing, Pusher, pusherOptions } from '../../src/outbound/pusher.js';
import { addUp, COUNTED, DECIDING, type Totals } from '../../src/outbound/totals.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { SiteDirectory } from '../../src/sites/site-directory.js';
import { SiteSecrets } from '../../src/sites/site-secrets.js';
import { Sites } from '../../src/sites/sites.js';
import { openDatabase } from './databases.js';
import type { Call } from './webhook-receiver.js';

/** The parts of an instance that push totals, without Nest and with an adjustable clock. */
export interface OutboundInstance {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: Sites;
  readonly directory: SiteDirectory;
  readonly sync: OutboundSync;
  readonly pusher: Pusher;
  readonly errors: string[];
  /** Added to the current time. */
  clockOffsetMs: number;
  /** Sends the pushes that are due and waits for their outcomes. */
  pushDue(): Promise<void>;
  stop(): Promise<void>;
}

const KEY = randomBytes(32);

export async function openInstance(
  databaseUrl: string,
  environment: Record<string, string> = {},
): Promise<OutboundInstance> {
  const settings = readSettings({ OUTBOUND_ALLOW_PRIVATE: 'true', OUTBOUND_TIMEOUT: '1s', ...environment });
  const postgres = await openDatabase(databaseUrl);
  const log = new EventLog(postgres);
  const secrets = new SiteSecrets(postgres.pool, new Sealer(KEY));
  const sites = new Sites(log, secrets, 'cli');
  const directory = new SiteDirectory(log, secrets, { ...settings, instance: uuidv7() });
  await directory.start();
  const now = () => Date.now() + instance.clockOffsetMs;
  const pusher = new Pusher(log, sites, openOutgoing(settings), { ...pusherOptions(settings, 'system'), now });
  const errors: string[] = [];
  const sync = new OutboundSync(postgres.pool, directory, secrets, pusher, {
    everyMs: settings.outboundEveryMs,
    timeoutMs: settings.outboundTimeoutMs,
    fault: (site, error) => errors.push(`${site}: ${error}`),
  });
  const instance: OutboundInstance = {
    postgres,
    log,
    sites,
    directory,
    sync,
    pusher,
    errors,
    clockOffsetMs: 0,
    pushDue: async () => {
      await directory.refresh();
      await sync.look();
      await sync.settled();
    },
    stop: async () => {
      await sync.stop();
      await log.close();
      await postgres.close();
    },
  };
  return instance;
}

/** The totals of a position range, counted from the log. */
export async function totalsOf(log: EventLog, site: string, after: number, until: number): Promise<Totals> {
  return addUp(await log.count({ site, after, until, types: COUNTED, by: DECIDING }));
}

/** Events that count towards the totals, and events that do not, as the product appends them. */
export type SampleEvent = 'received' | 'filtered' | 'detected' | 'observed' | 'trial' | 'trial-filtered' | 'delivered';

const EVENTS = {
  received: ['conversion', 'conversion.received.v1', { trial: false }],
  filtered: ['conversion', 'conversion.filtered.v1', { trial: false }],
  detected: ['visitor', 'visitor.bot_detected.v1', { score: 90, reasons: [], list: '1', mode: 'enforce' }],
  observed: ['visitor', 'visitor.bot_detected.v1', { score: 90, reasons: [], list: '1', mode: 'observe' }],
  trial: ['conversion', 'conversion.received.v1', { trial: true }],
  'trial-filtered': ['conversion', 'conversion.filtered.v1', { trial: true }],
  delivered: ['conversion', 'conversion.delivered.v1', { platform: 'meta', attempt: 1 }],
} as const;

export async function appendEvents(log: EventLog, site: string, ...samples: readonly SampleEvent[]): Promise<void> {
  await Promise.all(
    samples.map((sample) => {
      const [category, type, data] = EVENTS[sample];
      return log.append({
        category,
        stream: uuidv7(),
        expected: 'new',
        site,
        actor: 'system',
        events: [{ type, data }],
      });
    }),
  );
}

/** A push as its receiver parses it. */
export function parsePush({ headers, body, status }: Call) {
  return {
    id: String(headers['webhook-id']),
    from: Number(headers['x-cc-from-position']),
    to: Number(headers['x-cc-to-position']),
    totals: JSON.parse(body) as Totals,
    accepted: status === 200,
  };
}

/** The accepted pushes, deduplicated by id, in log order. */
export function acceptedPushes(calls: readonly Call[]): ReturnType<typeof parsePush>[] {
  const accepted = new Map(
    calls
      .map(parsePush)
      .filter((push) => push.accepted)
      .map((push) => [push.id, push]),
  );
  return [...accepted.values()].sort((one, other) => one.from - other.from || one.to - other.to);
}

export function sum(pushes: readonly { totals: Totals }[]): Totals {
  return pushes.reduce(
    (total, { totals }) => ({
      conversions: total.conversions + totals.conversions,
      bot_traffic_removed: total.bot_traffic_removed + totals.bot_traffic_removed,
    }),
    { conversions: 0, bot_traffic_removed: 0 },
  );
}
