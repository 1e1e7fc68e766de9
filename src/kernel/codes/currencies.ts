/**
 * The alphabetic codes of ISO 4217 up to amendment 180, listed here because the lists in Node versions differ. Includes fund
 * codes and metals; excludes XXX (no currency) and XTS (tests), which are not amounts of money.
 */
const ACTIVE = `
  AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW
  CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL
  HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA
  MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD
  RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD
  USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XUA YER ZAR
  ZMW ZWG`;

/**
 * Withdrawn since 2021 and still accepted, because shop systems lag behind and refunds keep the currency of the order.
 * Excludes older ones (VEF, 2018): an amount in them today is a mistake.
 */
const RECENTLY_WITHDRAWN = 'ANG BGN CUC HRK SLL ZWL';

export const CURRENCIES: ReadonlySet<string> = new Set(`${ACTIVE} ${RECENTLY_WITHDRAWN}`.trim().split(/\s+/));

/** The code in upper case; undefined when it is not a currency. */
export function readCurrency(text: string): string | undefined {
  if (CURRENCIES.has(text)) return text;
  const upper = /^[a-z]{3}$/i.test(text) ? text.toUpperCase() : '';
  return CURRENCIES.has(upper) ? upper : undefined;
}
