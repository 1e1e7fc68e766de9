import { CONVERSION } from '../events/conversion.events.js';
import type { DeliveryEvent } from '../events/delivery.events.js';
import type { StoredEvent } from '../log/event.js';
import type { Page, Projection } from '../log/projections/projection.js';
import { listEvents } from '../log/projections/reducer.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { isUnknownOutcome } from '../platforms/unknown-outcome.js';
import type { SettingsAsOf } from '../sites/connections/connection.js';
import type { DeliveryTerms } from './delivery.js';

/** A delivery that waits for its next attempt or for the platform's confirmation. */
export interface WaitingDelivery {
  readonly conversion: string;
  readonly platform: string;
  readonly site: string;
  readonly position: number;
  /** `send`: the next attempt is due. `confirm`: the next status request is due. */
  readonly kind: 'send' | 'confirm';
  readonly due: string;
  readonly attempt: number;
  readonly reason: string | null;
  readonly details: WaitingDetails;
  /** After this time an attempt is due whatever the state of the connection: it records that the delivery is too old. */
  readonly giveUpAt: string | null;
}

/** A delivery that is due. */
export interface DueDelivery extends Omit<WaitingDelivery, 'platform' | 'due' | 'giveUpAt'> {
  readonly platform: ConnectionName;
}

export interface WaitingDetails extends Omit<DeliveryTerms, 'asOf'>, SettingsAsOf {
  readonly requestId?: string | undefined;
  /** Sent in a request of its own. */
  readonly alone?: boolean | undefined;
  /** As in the outcome. */
  readonly unknown?: boolean | undefined;
}

/**
 * Since when the platform may have accepted the delivery without saying so; undefined if it cannot have. Events of versions
 * that did not record this count from the receipt.
 */
export function boundSince(
  { reason, details }: Pick<WaitingDelivery, 'reason' | 'details'>,
  receivedTime: string,
): string | undefined {
  if (details.unknownSince !== undefined) return details.unknownSince;
  return isUnknownOutcome(details.unknown, reason) ? receivedTime : undefined;
}

/** Events after which a delivery may wait. */
const WAITING = [
  'conversion.deferred.v1',
  'conversion.accepted.v1',
  'conversion.send_requested.v1',
  'conversion.reopened.v1',
] as const;
/** Events that end the wait. Those of a first attempt are not read, because no delivery waits before it. */
const SETTLED = [
  'conversion.delivered.v1',
  'conversion.failed.v1',
  'conversion.skipped.v1',
  'conversion.validated.v1',
  'conversion.confirmed.v1',
  'conversion.rejected.v1',
] as const;
/** Events after which deliveries held back by the connection's state are due at once. */
const RELEASED = ['site.platform_resumed.v1', 'site.platform_connected.v1'] as const;
/** Reasons for which a delivery waits until its connection works again. */
export const HELD_BACK: readonly string[] = ['authorization', 'paused'];

type Change = StoredEvent<(typeof WAITING | typeof SETTLED | typeof RELEASED)[number]>;

const CHANGES = [
  listEvents<Change>({ types: WAITING }),
  listEvents<Change>({ types: SETTLED, unless: { field: 'attempt', is: '1' } }),
  listEvents<Change>({ types: RELEASED }),
];

/** Deliveries that wait: the work list of the retry scheduler. */
export const deliveriesProjection: Projection = {
  name: 'deliveries',
  tables: ['deliveries'],
  bySite: true,
  reducers: CHANGES,
  async fold(page: Page): Promise<void> {
    const events: Change[] = [];
    for (const changes of CHANGES) events.push(...(await page.reduce(changes)));
    events.sort((one, other) => one.position - other.position);
    let changes = new Map<string, WaitingDelivery | { conversion: string; platform: string; settled: true }>();
    for (const event of events) {
      if (event.type === 'site.platform_resumed.v1' || event.type === 'site.platform_connected.v1') {
        await write(page, changes);
        changes = new Map();
        await release(page, event);
        continue;
      }
      const waiting = toWaiting(event);
      const { platform } = event.data;
      const conversion = event.stream.slice(CONVERSION.length + 1);
      changes.set(`${conversion} ${platform}`, waiting ?? { conversion, platform, settled: true });
    }
    await write(page, changes);
  },
};

function toWaiting(event: StoredEvent<DeliveryEvent['type']>): WaitingDelivery | undefined {
  const base = { conversion: event.stream.slice(CONVERSION.length + 1), site: event.site, position: event.position };
  if (event.type === 'conversion.send_requested.v1') {
    const { platform, eventId, attempt, siteVersion, settings, payloadVersion, reopened, without } = event.data;
    const { unknownSince, bodySha256 } = event.data;
    const details = { bodySha256, eventId, siteVersion, settings, payloadVersion, reopened, without, unknownSince };
    return { ...base, platform, kind: 'send', due: event.time, attempt, reason: 'pending', details, giveUpAt: null };
  }
  if (event.type === 'conversion.reopened.v1') {
    const { platform, attempt } = event.data;
    const details = { reopened: event.version };
    return { ...base, platform, kind: 'send', due: event.time, attempt, reason: 'pending', details, giveUpAt: null };
  }
  const outcome = event.data;
  const { platform, attempt, reason, nextTry, bodySha256, eventId, siteVersion, settings, reopened, requestId, alone } =
    outcome;
  if (nextTry === undefined) return undefined;
  const kind = outcome.status === 'accepted' ? 'confirm' : 'send';
  const { payloadVersion, without, unknown, unknownSince, giveUpAt = null } = outcome;
  const terms = { bodySha256, eventId, siteVersion, settings, payloadVersion, reopened, without };
  const sent = { ...terms, unknown, unknownSince };
  const details = kind === 'confirm' ? { ...sent, requestId } : { ...sent, alone };
  return { ...base, platform, kind, due: nextTry, attempt, reason: reason ?? null, details, giveUpAt };
}

async function write(page: Page, changes: ReadonlyMap<string, object>): Promise<void> {
  if (changes.size === 0) return;
  const settled = [...changes.values()].filter((change) => 'settled' in change);
  const waiting = [...changes.values()].filter((change) => !('settled' in change));
  if (settled.length > 0) {
    await page.tx.query(
      `DELETE FROM deliveries d USING json_to_recordset($1) AS s (conversion uuid, platform text)
        WHERE d.conversion = s.conversion AND d.platform = s.platform`,
      [JSON.stringify(settled)],
    );
  }
  if (waiting.length > 0) {
    await page.tx.query(
      `INSERT INTO deliveries (conversion, platform, site, position, kind, due, attempt, reason, details, give_up_at)
       SELECT conversion, platform, site, position, kind, due, attempt, reason, details, "giveUpAt"
         FROM json_to_recordset($1) AS w (
         conversion uuid, platform text, site text, position bigint, kind text, due timestamptz, attempt integer,
         reason text, details json, "giveUpAt" timestamptz)
       ON CONFLICT (conversion, platform) DO UPDATE SET (position, kind, due, attempt, reason, details, give_up_at) =
         (excluded.position, excluded.kind, excluded.due, excluded.attempt, excluded.reason, excluded.details,
          excluded.give_up_at)`,
      [JSON.stringify(waiting)],
    );
  }
}

async function release(page: Page, { site, time, data }: StoredEvent<(typeof RELEASED)[number]>): Promise<void> {
  await page.tx.query(
    'UPDATE deliveries SET due = $3 WHERE site = $1 AND platform = $2 AND reason = ANY ($4) AND due > $3',
    [site, data.platform, time, HELD_BACK],
  );
}
