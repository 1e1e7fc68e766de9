import type { Conversion, ConversionSource } from '../conversion.js';
import type { Settings } from '../platform.js';
import { presetValue } from '../presets.js';

const EVENT_SOURCES = {
  website: 'WEB',
  app: 'APP',
  phone_call: 'PHONE',
  physical_store: 'IN_STORE',
  email: 'OTHER',
  crm: 'OTHER',
  other: 'OTHER',
} as const satisfies Record<ConversionSource, string>;

/** Where the conversion happened, for the Data Manager. */
export function eventSourceOf({ source, visit }: Conversion, settings: Settings): string {
  if (source === undefined) return visit === undefined ? 'OTHER' : 'WEB';
  // Google allows store sales for selected accounts only, and refuses a source that does not suit the conversion action.
  if (source === 'physical_store' && settings['store_sales'] !== 'yes') return 'OTHER';
  return EVENT_SOURCES[source];
}

/** Google matches all parts of an address together, and requires each of them: names as hashes, the others plain. */
export function addressOf({ hashes: { firstName, lastName }, address }: Conversion): object | undefined {
  const { country, postalCode } = address ?? {};
  if (!firstName || !lastName || country === undefined || postalCode === undefined) return undefined;
  return { givenName: firstName, familyName: lastName, regionCode: country, postalCode };
}

const CUSTOMER_TYPES = new Set(['NEW', 'RETURNING', 'REENGAGED']);

/** Whether the customer is new, in a word that Google knows. */
export function userProperties(conversion: Conversion, settings: Settings): object | undefined {
  const customerType = presetValue(conversion, settings, 'customer_type')?.toUpperCase() ?? '';
  return CUSTOMER_TYPES.has(customerType) ? { customerType } : undefined;
}

/** The items of the order for the Data Manager, which accepts them without a Merchant Center account too. */
export function cartData(conversion: Conversion, settings: Settings): object | undefined {
  const { items } = conversion;
  if (items === undefined) return undefined;
  const coupon = presetValue(conversion, settings, 'coupon');
  return {
    merchantId: settings['merchant_id'],
    merchantFeedLabel: settings['feed_country'],
    merchantFeedLanguageCode: settings['feed_language'],
    // A 64-bit number, which is a string in Google's JSON.
    items: items.map(({ id, quantity, price }) => ({
      merchantProductId: id,
      quantity: String(quantity ?? 1),
      unitPrice: price,
    })),
    couponCodes: coupon ? [coupon] : undefined,
  };
}

/** The items of the order for the upload, whose product ids are those of a Merchant Center account. */
export function uploadCartData({ items }: Conversion, settings: Settings): object | undefined {
  if (items === undefined || settings['merchant_id'] === undefined) return undefined;
  return {
    merchantId: settings['merchant_id'],
    feedCountryCode: settings['feed_country'],
    feedLanguageCode: settings['feed_language'],
    items: items.map(({ id, quantity, price }) => ({ productId: id, quantity: quantity ?? 1, unitPrice: price })),
  };
}
