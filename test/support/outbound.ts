import { randomBytes } from 'node:crypto';
import { type Totals } from '../../src/events/outbound.events.js';
import type { CommandExecutor } from '../../src/kernel/command.js';
import { Sealer } from '../../src/kernel/sealing.js';
import { readSettings } from '../../src/kernel/settings.js';
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
  readonly faults: string[];
  /** Added to the real clock. */
  aheadMs: number;
  /** Runs one check and waits until its pushes have ended. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

const KEY = randomBytes(32);

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
  const directory = new SiteDirectory(log, secrets, { ...settings, instance: uuidv7() });
  await directory.start();
  const now = () => Date.now() + instance.aheadMs;
  const pusher = new Pusher(log, commands, openHttpClient(settings), { ...pusherOptions(settings, 'system'), now });
  const faults: string[] = [];
  const sync = new OutboundSync(postgres.pool, directory, secrets, pusher, {
    everyMs: settings.outboundEveryMs,
    timeoutMs: settings.outboundTimeoutMs,
    onError: (site, error) => faults.push(`${site}: ${error}`),
  });
  const instance: OutboundInstance = {
    postgres,
    log,
    sites,
    execute: (command) => commands.execute(command),
    directory,
    sync,
    pusher,
    faults,
    aheadMs: 0,
    look: async () => {
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

/** The totals according to the log. */
export async function totalsOf(log: EventLog, site: string, after: number, until: number): Promise<Totals> {
  return sumTotals(await log.count({ site, after, until, types: COUNTED, by: COUNTED_BY }));
}

/** Appends events that count or do not count, as the service does. */
export type Happening = 'received' | 'filtered' | 'detected' | 'observed' | 'trial' | 'trial-filtered' | 'delivered';

const EVENTS = {
  received: ['conversion', 'conversion.received.v1', { trial: false }],
  filtered: ['conversion', 'conversion.filtered.v1', { trial: false }],
  detected: ['visitor', 'visitor.bot_detected.v1', { score: 90, reasons: [], list: '1', mode: 'enforce' }],
  observed: ['visitor', 'visitor.bot_detected.v1', { score: 90, reasons: [], list: '1', mode: 'observe' }],
  trial: ['conversion', 'conversion.received.v1', { trial: true }],
  'trial-filtered': ['conversion', 'conversion.filtered.v1', { trial: true }],
  delivered: ['conversion', 'conversion.delivered.v1', { platform: 'meta', attempt: 1 }],
} as const;

export async function happen(log: EventLog, site: string, ...happenings: readonly Happening[]): Promise<void> {
  await Promise.all(
    happenings.map((happening) => {
      const [category, type, data] = EVENTS[happening];
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

/** A push as a receiver reads it. */
export function asPush({ headers, body, status }: Call) {
  return {
    id: String(headers['webhook-id']),
    from: Number(headers['x-cc-from-position']),
    to: Number(headers['x-cc-to-position']),
    totals: JSON.parse(body) as Totals,
    taken: status === 200,
  };
}

/** The accepted pushes, deduplicated by id, in log order. */
export function acknowledged(calls: readonly Call[]): ReturnType<typeof asPush>[] {
  const taken = new Map(
    calls
      .map(asPush)
      .filter((push) => push.taken)
      .map((push) => [push.id, push]),
  );
  return [...taken.values()].sort((one, other) => one.from - other.from || one.to - other.to);
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
