import { randomBytes } from 'node:crypto';
import { newestCheckpoint } from '../../src/checkpoints/checkpoints.js';
import { type Totals } from '../../src/events/outbound.events.js';
import type { CommandExecutor } from '../../src/kernel/command.js';
import { Sealer } from '../../src/kernel/sealing.js';
import { readSettings } from '../../src/kernel/settings/settings.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import type { EventLog } from '../../src/log/event-log.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { OutboundSync } from '../../src/outbound/outbound-sync.js';
import { openHttpClient, Pusher, pusherOptions } from '../../src/outbound/pusher.js';
import { COUNTED, COUNTED_BY, sumTotals } from '../../src/outbound/totals.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { siteCommandDispatcher } from '../../src/sites/site-command-handlers.js';
import { SiteDirectory } from '../../src/sites/site-directory.js';
import { SiteRepository } from '../../src/sites/site-repository.js';
import { SiteSecrets } from '../../src/sites/site-secrets.js';
import { openDatabase } from './databases.js';
import type { Call } from './webhook-receiver.js';

/** The parts of an instance that push totals, without Nest and with an adjustable clock. */
export interface OutboundInstance extends CommandExecutor {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: SiteRepository;
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

export const KEY = randomBytes(32);

export async function openInstance(
  databaseUrl: string,
  environment: Record<string, string> = {},
): Promise<OutboundInstance> {
  const settings = readSettings({ OUTBOUND_ALLOW_PRIVATE: 'true', OUTBOUND_TIMEOUT: '1s', ...environment });
  const postgres = await openDatabase(databaseUrl);
  const log = new PostgresEventLog(postgres);
  const secrets = new SiteSecrets(postgres.pool, new Sealer(KEY));
  const sites = new SiteRepository(log);
  const commands = siteCommandDispatcher(sites, secrets);
  const directory = new SiteDirectory(log, secrets, { ...settings, instance: uuidv7(), clock: postgres.clock });
  await directory.start();
  const now = () => Date.now() + instance.clockOffsetMs;
  const options = { ...pusherOptions(settings, 'system', postgres.clock), now };
  const pusher = new Pusher(log, commands, openHttpClient(settings), {
    ...options,
    checkpoint: () => newestCheckpoint(postgres.pool),
  });
  const errors: string[] = [];
  const sync = new OutboundSync(postgres, directory, secrets, pusher, {
    everyMs: settings.outboundEveryMs,
    timeoutMs: settings.outboundTimeoutMs,
    onError: (site, error) => errors.push(`${site}: ${error}`),
  });
  const instance: OutboundInstance = {
    postgres,
    log,
    sites,
    execute: (command) => commands.execute(command),
    directory,
    sync,
    pusher,
    errors,
    clockOffsetMs: 0,
    pushDue: async () => {
      await directory.refresh();
      await sync.check();
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
  return sumTotals(await log.count({ site, after, until, types: COUNTED, by: COUNTED_BY }));
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
