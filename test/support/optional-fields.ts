import { CONVERSION_SOURCES, type Conversion, type ConversionSource } from '../../src/platforms/conversion.js';
import { SAMPLE_CONVERSIONS } from './sample-conversions.js';

/** A conversion with a visit of a web page and all optional fields. */
export const DETAILED: Conversion = SAMPLE_CONVERSIONS['with-details'];

/** The same after an opt-out: consent withholds the visit. */
export const DETAILED_OPT_OUT: Conversion = { ...DETAILED, visit: undefined, consent: 'denied' };

/** A lead without an amount, but with prices of items. */
export const PRICED_LEAD: Conversion = { ...DETAILED, event: 'lead', value: undefined };

/** The same lead with an item that has no price. */
export const UNPRICED_LEAD: Conversion = { ...PRICED_LEAD, items: [{ id: 'SKU-3' }] };

/** What `value` returns for each source of a conversion. */
export function bySource<T>(
  conversion: Conversion,
  value: (conversion: Conversion) => T,
): Record<ConversionSource | 'none', T> {
  const results = CONVERSION_SOURCES.map((source) => [source, value({ ...conversion, source })]);
  return Object.fromEntries([...results, ['none', value({ ...conversion, source: undefined })]]);
}
