import type { LogReads } from '../log/event-log.js';
import type { SomeOptions } from '../log/event-reader.js';
import { type SiteScope, scopeStart } from '../sites/site.js';
import { storedForms } from './address-digest.js';
import { isOpening, type StoredOpening } from './conversion.js';

/** The openings of all conversions of a site with this order id, as its sender knows it, or of the oldest or newest; in log order. */
export async function findOrder(
  log: Pick<LogReads, 'find'>,
  site: SiteScope,
  siteSecret: string,
  orderId: string,
  some?: SomeOptions,
): Promise<StoredOpening[]> {
  const after = scopeStart(site);
  const found = await Promise.all(
    storedForms(siteSecret, orderId).map((order) => log.find(site.host, order, some && { ...some, after })),
  );
  return found
    .flat()
    .filter(isOpening)
    .filter(({ position }) => position > after)
    .sort((one, other) => one.position - other.position);
}
