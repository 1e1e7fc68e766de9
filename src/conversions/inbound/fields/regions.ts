/** Names of states and provinces with the two letters that platforms require in their place. */
const CODES: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  US: codes(`AL Alabama, AK Alaska, AZ Arizona, AR Arkansas, CA California, CO Colorado, CT Connecticut, DE Delaware,
    DC District of Columbia, FL Florida, GA Georgia, HI Hawaii, ID Idaho, IL Illinois, IN Indiana, IA Iowa, KS Kansas,
    KY Kentucky, LA Louisiana, ME Maine, MD Maryland, MA Massachusetts, MI Michigan, MN Minnesota, MS Mississippi, MO Missouri,
    MT Montana, NE Nebraska, NV Nevada, NH New Hampshire, NJ New Jersey, NM New Mexico, NY New York, NC North Carolina,
    ND North Dakota, OH Ohio, OK Oklahoma, OR Oregon, PA Pennsylvania, RI Rhode Island, SC South Carolina, SD South Dakota,
    TN Tennessee, TX Texas, UT Utah, VT Vermont, VA Virginia, WA Washington, WV West Virginia, WI Wisconsin, WY Wyoming`),
  CA: codes(`AB Alberta, BC British Columbia, MB Manitoba, NB New Brunswick, NL Newfoundland and Labrador, NS Nova Scotia,
    NT Northwest Territories, NU Nunavut, ON Ontario, PE Prince Edward Island, QC Quebec, SK Saskatchewan, YT Yukon`),
};

function codes(list: string): ReadonlyMap<string, string> {
  return new Map(list.split(',').map((entry) => [letters(entry.trim().slice(3)), entry.trim().slice(0, 2)] as const));
}

/** In lower case, without spaces, punctuation and accents. */
function letters(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z]+/g, '');
}

/**
 * The region of a country as platforms expect it: the letters of a state of the United States or Canada in place of its name, and
 * an ISO 3166-2 code (`DE-BE`) without the country. Any other is as sent.
 */
export function regionOf(region: string, country: string): string {
  const upper = region.toUpperCase();
  const local = upper.startsWith(`${country}-`) && /^[A-Z0-9]{1,3}$/.test(upper.slice(3)) ? upper.slice(3) : region;
  return CODES[country]?.get(letters(local)) ?? local;
}
