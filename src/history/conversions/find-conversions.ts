import { isOpening, type StoredOpening } from '../../conversions/conversion.js';
import { findOrder } from '../../conversions/find-order.js';
import { CONVERSION } from '../../events/conversion.events.js';
import { meets } from '../../log/data-condition.js';
import type { LogReads } from '../../log/event-log.js';
import type { SiteScope } from '../../sites/site.js';
import { type Bound, searchBounds } from '../bound.js';
import { pageBackwards } from '../page-backwards.js';
import {
  type ConversionFilter,
  type DeliveryState,
  dependsOnDeliveries,
  matchesDeliveries,
  openingConditions,
  openingTypes,
} from './conversion-filter.js';
import { deliveryStates, readConversionStreams } from './delivery-states.js';

/** More conversions with one order id are not listed: a sender can repeat it any number of times. */
const ORDER_MAX = 500;
/** Conversions whose deliveries are read at once where few of them may match. */
const LOOKED_AT_ONCE = 500;
/** A page takes a second or two at most, however little matches: `next` continues. */
const LOOKING_MS = 1_000;

export interface ConversionSearch extends Omit<ConversionFilter, 'order' | 'event'> {
  /** Its id. */
  readonly conversion?: string | undefined;
  /** The sender's order id. */
  readonly order?: string | undefined;
  readonly event?: string | undefined;
  /** Inclusive. */
  readonly from?: Bound | undefined;
  /** Exclusive. */
  readonly to?: Bound | undefined;
  /** `next` of the page before. */
  readonly cursor?: number | undefined;
  readonly limit: number;
}

export interface FoundConversion {
  readonly opening: StoredOpening;
  readonly deliveries: readonly DeliveryState[];
}

export interface ConversionPage {
  /** Newest first. There may be fewer than the limit although there are more. */
  readonly found: readonly FoundConversion[];
  /** The next page is before this position. Undefined: there are no more. */
  readonly next?: number;
}

/** Conversions of a site with what became of their deliveries. `siteSecret` is needed for an order. */
export async function findConversions(
  log: LogReads,
  site: SiteScope,
  { conversion, order, event, from, to, cursor, limit, ...search }: ConversionSearch,
  siteSecret: string | undefined,
): Promise<ConversionPage> {
  const filter = { ...search, ...(event !== undefined && { event: [event] }) };
  const types = openingTypes(filter);
  if (types.length === 0) return { found: [] };
  const { after, before: until } = await searchBounds(log, site, { from, to, cursor });
  const end = Math.min(until, (await log.head()) + 1);
  const where = openingConditions(filter);
  const selection = { site: site.host, types, where, after };
  const named = await findNamed(log, site, { conversion, order }, types, siteSecret);
  const matching = named?.filter(
    ({ position, type, data, ...of }) =>
      of.site === site.host && position > after && types.includes(type) && meets(data, where),
  );
  const found: FoundConversion[] = [];
  const untilMs = performance.now() + LOOKING_MS;
  for (let before = end; ; ) {
    const size = dependsOnDeliveries(filter) ? LOOKED_AT_ONCE : limit;
    const page = matching
      ? pageOf(matching, before, size)
      : await pageBackwards(log, { ...selection, before, limit: size });
    const openings = page.events as readonly StoredOpening[];
    for (const [opening, ...later] of (await readConversionStreams(log, openings)).values()) {
      const deliveries = deliveryStates([opening, ...later]);
      if (!matchesDeliveries(filter, deliveries)) continue;
      // One more matches than the page has.
      if (found.length === limit) return { found, next: (found.at(-1) as FoundConversion).opening.position };
      found.push({ opening, deliveries });
    }
    if (page.next === undefined) return { found };
    if (found.length === limit || performance.now() > untilMs) return { found, next: page.next };
    before = page.next;
  }
}

/** The conversion with an id, or the newest of an order, newest first. Undefined: neither is named. */
async function findNamed(
  log: LogReads,
  site: SiteScope,
  { conversion, order }: Pick<ConversionSearch, 'conversion' | 'order'>,
  types: readonly string[],
  siteSecret: string | undefined,
): Promise<StoredOpening[] | undefined> {
  const newest = { types, limit: ORDER_MAX, newest: true };
  const ofOrder = order === undefined ? undefined : await findOrder(log, site, siteSecret as string, order, newest);
  if (conversion === undefined) return ofOrder?.reverse();
  const [opening] = (await log.readOpenings(CONVERSION, [conversion])).filter(isOpening);
  const isOfOrder = ofOrder?.some(({ position }) => position === opening?.position) ?? true;
  return opening && isOfOrder ? [opening] : [];
}

/** As `pageBackwards` makes it of the log. */
function pageOf(openings: readonly StoredOpening[], before: number, limit: number) {
  const earlier = openings.filter(({ position }) => position < before);
  const events = earlier.slice(0, limit);
  return { events, next: earlier.length > limit ? events.at(-1)?.position : undefined };
}
