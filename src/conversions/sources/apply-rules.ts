import type { PositionRange, StoredEvent } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import type { LoadedSource } from '../../sites/sources/loaded-source.js';
import { DeliveryOutdated } from '../receive-conversion.command.js';
import type { DeliveryResult, SourceDeliveries } from './source-deliveries.js';
import { ignoredDelivery, storedDelivery } from './source-delivery.js';

const PAGE = 200;
const OUTDATED_MAX = 20;

type Ignored = StoredEvent<'inbound.delivery_ignored.v1'>;

export interface AppliedRules {
  /** Stored deliveries without a conversion that were looked at. */
  deliveries: number;
  /** Of these, so many are a conversion now, or would be. */
  converted: number;
  /** Their personal part was erased. */
  erased: number;
  /** The others, by reason. */
  readonly reasons: Record<string, number>;
}

interface ApplyOptions {
  readonly log: Pick<EventLog, 'head' | 'read'>;
  readonly deliveries: SourceDeliveries;
  readonly site: LoadedSite;
  readonly source: LoadedSource;
  readonly range: PositionRange;
  readonly isDryRun: boolean;
  /** After each page. Throws to end. */
  progress(): void;
}

/**
 * Applies the current rules to what was stored of deliveries that are no conversion. A delivery that became one is not read: it is one
 * conversion for good.
 */
export async function applyRules(options: ApplyOptions): Promise<AppliedRules> {
  const { log, site, source, range } = options;
  const applied: AppliedRules = { deliveries: 0, converted: 0, erased: 0, reasons: {} };
  let outdated = 0;
  for (let after = range.after; ; ) {
    const readAt = await log.head();
    const read = { types: ['inbound.delivery_ignored.v1'] as const, site: site.site.host };
    const page = (await log.read({ ...read, after, until: range.until, limit: PAGE })) as Ignored[];
    if (page.length === 0) return applied;
    try {
      for (const event of page) {
        if (event.data.keyId === source.connection.keyId) await applyTo(options, event, readAt, applied);
        after = event.position;
      }
    } catch (error) {
      // Something happened to a person meanwhile, perhaps an erasure: what is left is read again.
      outdated += 1;
      if (!(error instanceof DeliveryOutdated) || outdated > OUTDATED_MAX) throw error;
    }
    options.progress();
  }
}

async function applyTo(
  { deliveries, site, source, isDryRun }: ApplyOptions,
  { data, personal }: Ignored,
  readAt: number,
  applied: AppliedRules,
): Promise<void> {
  const count = (result: DeliveryResult | undefined) => {
    applied.deliveries += 1;
    if (result?.outcome !== 'ignored' && result?.outcome !== 'repeated') return;
    const reason = result.reason ?? 'order_known';
    applied.reasons[reason] = (applied.reasons[reason] ?? 0) + 1;
  };
  if (!personal?.delivery) {
    applied.deliveries += 1;
    applied.erased += 1;
    return;
  }
  const delivery = storedDelivery(source, ignoredDelivery(data), personal);
  if (!delivery) return count({ outcome: 'ignored', reason: 'topic' });
  const result = isDryRun
    ? await deliveries.preview(site, source, delivery)
    : await deliveries.store(site, source, { ...delivery, readAt });
  if (result.outcome !== 'ignored' && result.outcome !== 'repeated') applied.converted += 1;
  count(result);
}
