import { buildPayload } from '../delivery/payload/payload.js';
import { sampleReceived } from '../delivery/payload/sample-conversion.js';
import type { ReceivedConversion } from '../delivery/received-conversion.js';
import type { ConversionPersonal } from '../events/conversion.events.js';
import { COOKIES, PLATFORM_CLICK_KINDS } from '../platforms/click-ids.js';
import type { Visit } from '../platforms/conversion.js';
import type { Platform, Settings } from '../platforms/platform.js';

/** Something that a platform recognises a person by, and the names of which a conversion carries at least one. */
export interface UsedIdentifier {
  readonly identifier: string;
  readonly anyOf: readonly string[];
}

const OTHER_DIGEST = '0'.repeat(64);
const OTHER = 'another value';

/** The sample with another value of one identifier. */
const CHANGES: Readonly<Record<string, (personal: ConversionPersonal) => ConversionPersonal>> = {
  email: (personal) => ({ ...personal, subject: OTHER_DIGEST }),
  phone: (personal) => ({ ...personal, phone: OTHER_DIGEST, phoneDigits: OTHER_DIGEST }),
  external_id: (personal) => ({ ...personal, externalId: OTHER }),
  ip_address: (personal) => withVisit(personal, { ip: '192.0.2.99' }),
  user_agent: (personal) => withVisit(personal, { userAgent: OTHER }),
  first_name: (personal) => ({ ...personal, firstName: OTHER_DIGEST }),
  last_name: (personal) => ({ ...personal, lastName: OTHER_DIGEST }),
  city: (personal) => ({ ...personal, address: { ...personal.address, city: OTHER } }),
  region: (personal) => ({ ...personal, address: { ...personal.address, region: 'BY' } }),
  postal_code: (personal) => ({ ...personal, address: { ...personal.address, postalCode: '80331' } }),
  country: (personal) => ({ ...personal, address: { ...personal.address, country: 'AT' } }),
};

/**
 * The identifiers that a connection sends, found by building payloads of a fictitious conversion with and without each: a list
 * beside the platforms' code would not follow it.
 */
export function usedIdentifiers(platform: Platform, { events: _, ...settings }: Settings): UsedIdentifier[] {
  const received = sampleReceived(0);
  const build = (personal: ReceivedConversion['personal'], settings: Settings) => {
    const payload = buildPayload({ ...received, personal }, platform, settings, {});
    return 'skip' in payload ? payload.skip : payload.body;
  };
  // A connection without purchases: any id will do, because nothing is sent.
  const isMapped = build(received.personal, settings) !== 'event_not_mapped';
  const bodyOf = (personal: ConversionPersonal) =>
    build(personal, isMapped ? settings : { ...settings, 'event.purchase': '1' });
  return identifiersIn(received.personal as ConversionPersonal, bodyOf);
}

/** The identifiers that change what is built of a conversion. */
export function identifiersIn(
  personal: ConversionPersonal,
  bodyOf: (personal: ConversionPersonal) => string,
): UsedIdentifier[] {
  const changed = Object.entries(CHANGES)
    .filter(([, change]) => bodyOf(change(personal)) !== bodyOf(personal))
    .map(([identifier]) => ({ identifier, anyOf: [identifier] }));
  const without = withVisit(personal, { clicks: {}, cookies: {} });
  const isUsed = (visit: Partial<Visit>) => bodyOf(withVisit(without, visit)) !== bodyOf(without);
  const clicks = PLATFORM_CLICK_KINDS.filter((kind) => isUsed({ clicks: { [kind]: { id: 'abc', timeMs: -1_000 } } }));
  const cookies = COOKIES.flatMap(([kind, { sample }]) => {
    return sample !== undefined && isUsed({ cookies: { [kind]: sample } }) ? [kind] : [];
  });
  const grouped = [
    { identifier: 'click_id', anyOf: clicks },
    { identifier: 'cookie', anyOf: cookies },
  ];
  return [...grouped.filter(({ anyOf }) => anyOf.length > 0), ...changed];
}

function withVisit(personal: ConversionPersonal, changes: Partial<Visit>): ConversionPersonal {
  return { ...personal, visit: { ...(personal.visit as Visit), ...changes } };
}
