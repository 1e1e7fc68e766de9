import type { Conversion } from './conversion.js';
import { customObject } from './event-mapping.js';
import { hasAmount } from './items.js';
import { FIRST_PAYLOAD_VERSION } from './payload-version.js';
import { digestOf, listOf, type PersonalHashes } from './personal-hashes.js';
import type { Settings } from './platform.js';

/**
 * ISO 4217 currencies whose minor unit is not a hundredth. `Intl` cannot be used: it has the decimals that people usually
 * write, and would round 1234.56 HUF to 1235.
 */
const DECIMALS: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
]);

/** Formats an amount with the decimals of its currency (129.90 EUR, 1000 JPY, 1.500 KWD), for platforms that expect text. */
export function amountText(value: number, currency: string): string {
  return value.toFixed(DECIMALS.get(currency) ?? 2);
}

/**
 * Cuts a page URL after its path. The query and the fragment may contain a click id of another platform, or what a
 * visitor typed into a form; neither may be sent to a platform.
 */
export function withoutQuery(url: string | undefined): string | undefined {
  if (!url) return undefined;
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** The fields of `user_data` that Meta, Pinterest and Snapchat have in common; they differ in how names are normalised. */
export function userData(
  { hashes, visit }: Conversion,
  firstName: keyof PersonalHashes,
  lastName: keyof PersonalHashes,
) {
  return {
    em: listOf(hashes.subject),
    ph: listOf(hashes.phoneDigits),
    fn: listOf(digestOf(hashes, firstName)),
    ln: listOf(digestOf(hashes, lastName)),
    client_ip_address: visit?.ip || undefined,
    client_user_agent: visit?.userAgent || undefined,
  };
}

/** `custom_data` in the format of Meta, which Snapchat shares; undefined when it would be empty. */
export function customData(conversion: Conversion, settings: Settings, items: object): object | undefined {
  const { value, currency, orderId } = conversion;
  return unlessEmpty({
    currency: hasAmount(conversion) ? currency : undefined,
    value,
    order_id: orderId,
    ...items,
    ...customObject(settings, conversion),
  });
}

/** After an opt-out a platform that has no field for it gets no personal data. Payloads of the first version contained hashes. */
export function withholdsPersonal({ consent, payloadVersion, isAnonymous }: Conversion): boolean {
  return isAnonymous === true || (consent === 'denied' && payloadVersion > FIRST_PAYLOAD_VERSION);
}

/** Whether the person has consented, as far as a field of a platform states it. The sender can state one field without the others. */
export function isGranted({ consent, sentConsent }: Conversion, field: 'ad_storage' | 'ad_user_data'): boolean {
  return consent === 'granted' || (consent === 'unknown' && sentConsent?.[field] === 'granted');
}

/** Whether the platform may use the conversion only in the way that it offers after an opt-out. */
export function isLimited({ consent, sentConsent }: Conversion, settings: Settings): boolean {
  if (consent === 'denied' || sentConsent?.ad_personalization === 'denied') return true;
  return settings['limited_data_use'] === 'always';
}

/** The object itself, or undefined when none of its fields has a value. */
export function unlessEmpty(data: Readonly<Record<string, unknown>>): object | undefined {
  for (const name in data) if (data[name] !== undefined) return data;
  return undefined;
}
