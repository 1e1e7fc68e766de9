import {
  type ConversionHistory,
  conversionHistory,
  type HistoryDependencies,
  readOrderedConversion,
  requireConversion,
} from '../history/conversion-history.js';
import { UserError } from '../kernel/errors.js';

export async function findByConversion(
  dependencies: HistoryDependencies,
  host: string | undefined,
  conversionId: string,
): Promise<ConversionHistory> {
  return conversionHistory(dependencies, await requireConversion(dependencies.log, host, conversionId));
}

export async function findByOrder(
  dependencies: HistoryDependencies,
  host: string,
  orderId: string,
): Promise<ConversionHistory> {
  const own = await readOrderedConversion(dependencies, host, orderId);
  if (own) return conversionHistory(dependencies, own);
  throw new UserError(
    `${host} has no conversion with order ${orderId}. "events tail --site ${host}" shows the newest events.`,
  );
}
