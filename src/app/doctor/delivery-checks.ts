import { findUnattempted, reportOwed } from '../../delivery/owed/owed-report.js';
import { OUTBOUND } from '../../events/outbound.events.js';
import { usesKafka } from '../../kafka/kafka-settings.js';
import { counted } from '../../kernel/counted.js';
import { formatDuration } from '../../kernel/durations.js';
import { messageOf } from '../../kernel/errors.js';
import { ownEnd, streamOf } from '../../outbound/reporting-window.js';
import { isHeldBack } from '../../sites/connections/connection.js';
import { isClosed, isHeld, type Site } from '../../sites/site.js';
import { type DoctorDependencies, type Finding, failed, judged, passed } from './check.js';

/** An attempt that any instance may make waits at most for the lease of one that died, and for a busy queue. */
const LATE_MAX_MS = 15 * 60_000;

/** Informational: the service sends queued deliveries, and a paused or parked connection affects no other. */
export async function deliveries({ postgres, sites }: DoctorDependencies): Promise<Finding> {
  const { rows } = await postgres.pool.query<{ waiting: number; oldest: Date | null }>(
    `SELECT count(*)::float8 AS waiting, min(due) AS oldest FROM cc.deliveries WHERE kind = 'send'`,
  );
  const { waiting, oldest } = rows[0] as (typeof rows)[0];
  const heldBack = await heldBackConnections(sites);
  const states = heldBack.map(({ host, platform, state, reason }) => {
    return `${platform} of ${host} is ${state}${reason === undefined ? '' : ` (${reason})`}`;
  });
  const parked = heldBack.filter(({ state }) => state === 'parked');
  const commands = [...new Set(parked.map(({ host }) => `"platforms list --site ${host}"`))];
  return {
    ok: true,
    detail: [oldest ? `${waiting} queued, the oldest is due ${oldest.toISOString()}` : 'none queued', ...states].join(
      '; ',
    ),
    ...(parked.length > 0 && {
      fix: `Fix what the platform refuses: ${commands.join(', ')} tells how; queued deliveries are sent then.`,
    }),
  };
}

function heldBy(site: Site): { state: 'paused'; reason: string } {
  return { state: 'paused', reason: site.move ? 'the site moves' : 'the site is paused' };
}

async function heldBackConnections(sites: DoctorDependencies['sites']) {
  return (await sites.all()).flatMap((site) =>
    site.connections
      .map((connection) =>
        isHeld(site) && connection.state === 'active' ? { ...connection, ...heldBy(site) } : connection,
      )
      .filter(isHeldBack)
      .map((connection) => ({ host: site.host, ...connection })),
  );
}

/** Deliveries that some instance should have attempted by now, whichever instance received the conversion. */
export async function owed({ postgres, log, sites }: DoctorDependencies): Promise<Finding> {
  const heldBack = new Set((await heldBackConnections(sites)).map(({ host, platform }) => `${platform} of ${host}`));
  const elsewhere = new Set((await sites.all()).filter(isClosed).map(({ host }) => host));
  const { byPlatform, unattempted, lateMs } = await reportOwed(
    postgres,
    await findUnattempted(postgres, log),
    (site, platform) => heldBack.has(`${platform} of ${site}`),
    (site) => elsewhere.has(site),
  );
  const total = [...byPlatform.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return passed('none');
  const counts = [...byPlatform].map(([platform, count]) => `${platform} ${count}`).join(', ');
  const late =
    lateMs < 1_000 ? 'none is late' : `the oldest is late by ${formatDuration(Math.floor(lateMs / 1_000) * 1_000)}`;
  return judged(
    lateMs <= LATE_MAX_MS,
    `${counted(total, 'delivery', 'deliveries')} (${counts}), ${unattempted} of them without an attempt; ${late}`,
    'Start the service: any instance makes these attempts. If one runs, its log and the state of the platforms tell why it does not.',
  );
}

/** The service retries a failing webhook. A webhook that the service disabled needs an operator. */
export async function webhooks({ log, sites }: DoctorDependencies): Promise<Finding> {
  const set = (await sites.all()).flatMap(({ host, webhook, move }) =>
    webhook && !isClosed({ move }) ? [{ host, webhook }] : [],
  );
  const ends = await log.readEnds(
    OUTBOUND,
    set.filter(({ webhook }) => webhook.enabled).map(({ host }) => streamOf(host)),
  );
  const failing = ends
    .filter((end) => set.some(({ host, webhook }) => host === end.site && ownEnd(webhook, end)))
    .filter((event) => event.type === 'outbound.failed.v1')
    .map(({ site, data }) => `${site} has failed since ${data.failingSince} (${data.reason})`);
  const disabled = set.filter(({ webhook }) => !webhook.enabled && webhook.reason !== undefined);
  const states = disabled.map(
    ({ host, webhook }) => `${host} has been disabled since ${webhook.since} (${webhook.reason})`,
  );
  const commands = disabled.map(({ host }) => `"webhook enable --site ${host}"`);
  return judged(
    disabled.length === 0,
    [`${set.length} set`, ...failing, ...states].join('; '),
    `Fix the receiver, then run ${commands.join(', ')}; the totals held back are pushed then.`,
  );
}

export async function kafka({ postgres, settings }: DoctorDependencies): Promise<Finding> {
  if (!usesKafka(settings)) return passed('not configured (KAFKA_BROKERS): events are only in the log');
  const { findRefusal, probeKafka } = await import('../../kafka/probe.js');
  try {
    const { brokers, behind } = await probeKafka(settings, postgres.pool);
    const refusal = await findRefusal(settings, postgres);
    if (refusal)
      return failed(
        `the relay refuses to publish. ${refusal}`,
        'Set KAFKA_TOPIC_PREFIX to one that no other cell of these brokers uses, and restart every instance of this cell.',
      );
    const detail =
      behind === 0 ? 'all events are published' : `${counted(behind, 'event is', 'events are')} not published yet`;
    return passed(`${brokers} ${brokers === 1 ? 'broker' : 'brokers'}, ${detail}`);
  } catch (error) {
    return failed(
      `${settings.kafkaBrokers.join(', ')} cannot be reached: ${messageOf(error)}`,
      'Check KAFKA_BROKERS, KAFKA_SSL and KAFKA_SASL_…, and that a broker runs. Meanwhile conversions are accepted; events are published from the log later.',
    );
  }
}
