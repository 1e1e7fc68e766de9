import { derivedUuid } from '../../kernel/uuid.js';
import type { PersonalHashes } from '../../platforms/personal-hashes.js';
import { storedText } from '../address-digest.js';
import { isCorrection } from '../correction.js';
import { dedupKey } from '../dedup-key.js';
import type { ReceiveConversion } from '../receive-conversion.command.js';

/**
 * The conversion id of an imported line, derived from its dedup key: a line that means the same conversion has the same id
 * whenever it is imported, so that the log itself tells what was imported. Keyed with the site's secret, as the dedup key is.
 * A line that was filtered the first time has another id when it is not filtered any more.
 */
export function lineId(
  { loadedSite, key, fields }: ReceiveConversion,
  { subject }: PersonalHashes,
  afterFilter = false,
): string {
  const { dedupSecret } = loadedSite;
  const { event, orderId, value, currency, occurredAt } = fields;
  const conversion = {
    trial: key.trial,
    event: storedText(dedupSecret, event),
    orderId: orderId === undefined ? undefined : storedText(dedupSecret, orderId),
    value,
    currency,
    occurredAt,
    correction: isCorrection(loadedSite, event) || undefined,
  };
  const name = `imported ${dedupSecret} ${dedupKey(dedupSecret, conversion, subject)}`;
  return derivedUuid(afterFilter ? `${name} after filter` : name);
}
