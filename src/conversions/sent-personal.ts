import type { ConversionPersonal } from '../events/conversion.events.js';
import { storedText } from './address-digest.js';
import type { InboundFields } from './inbound/inbound-field.js';

type SentPersonal = Pick<ConversionPersonal, 'externalId' | 'address' | 'clickIds' | 'ipAddress' | 'userAgent'>;

/**
 * The personal fields that are stored as they were sent; undefined if there are none. Click ids, IP address and User-Agent are
 * left out where consent withholds those of visits.
 */
export function sentPersonal(fields: InboundFields, siteSecret: string, isWithheld: boolean): SentPersonal | undefined {
  const { externalId, address } = fields;
  const { clickIds, ipAddress, userAgent } = isWithheld ? ({} as InboundFields) : fields;
  if (!externalId && !address && !clickIds && !ipAddress && !userAgent) return undefined;
  return {
    ...(externalId !== undefined && { externalId: storedText(siteSecret, externalId) }),
    ...(address && { address }),
    ...(clickIds && { clickIds }),
    ...(ipAddress !== undefined && { ipAddress }),
    ...(userAgent !== undefined && { userAgent }),
  };
}
