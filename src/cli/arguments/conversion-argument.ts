import {
  type ConversionHistory,
  type ConversionStream,
  conversionHistory,
  type HistoryDependencies,
  readOrderedConversion,
  requireConversion,
} from '../../history/conversion-history.js';
import { UserError } from '../../kernel/errors.js';

export async function findByConversion(
  dependencies: HistoryDependencies,
  host: string | undefined,
  conversionId: string,
): Promise<ConversionHistory> {
  return conversionHistory(
    dependencies,
    await requireConversion(dependencies.log, host === undefined ? undefined : { host }, conversionId),
  );
}

/** The newest conversion with the order id, as `readOrderedConversion` chooses it. */
export async function requireOrderedConversion(
  dependencies: HistoryDependencies,
  host: string,
  orderId: string,
): Promise<ConversionStream> {
  const own = await readOrderedConversion(dependencies, { host }, orderId);
  if (own) return own;
  throw new UserError(
    `${host} has no conversion with order ${orderId}. "events tail --site ${host}" shows the newest events.`,
  );
}

export async function findByOrder(
  dependencies: HistoryDependencies,
  host: string,
  orderId: string,
): Promise<ConversionHistory> {
  return conversionHistory(dependencies, await requireOrderedConversion(dependencies, host, orderId));
}
