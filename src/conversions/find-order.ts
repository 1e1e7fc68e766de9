import type { LogReads } from '../log/event-log.js';
import type { SomeOptions } from '../log/event-reader.js';
import { storedForms } from './address-digest.js';
import { isOpening, type StoredOpening } from './conversion.js';

/** The openings of all conversions with this order id, as its sender knows it, or of the oldest or newest; in log order. */
export async function findOrder(
  log: Pick<LogReads, 'find'>,
  host: string,
  siteSecret: string,
  orderId: string,
  some?: SomeOptions,
): Promise<StoredOpening[]> {
  const found = await Promise.all(storedForms(siteSecret, orderId).map((order) => log.find(host, order, some)));
  return found
    .flat()
    .filter(isOpening)
    .sort((one, other) => one.position - other.position);
}
