/** The European Economic Area, the United Kingdom and Switzerland, where personal data is sent to advertisers with consent only. */
const COUNTRIES = new Set(
  'AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE IS LI NO GB CH'.split(' '),
);

export function isInEurope(country: string | undefined): boolean {
  return country !== undefined && COUNTRIES.has(country);
}
