/** Years in which support ends, on 30 April, by major version. Those with an odd number are supported for a few months only. */
const LAST_YEARS: Readonly<Record<string, number>> = { 20: 2026, 22: 2027, 24: 2028, 26: 2029 };
const RECOMMENDED = 24;

/** A line for a terminal; empty for a version that is supported or that is not in the list. */
export function unsupportedNodeText(version: string, today: Date): string {
  const major = version.split('.', 1)[0] as string;
  const year = LAST_YEARS[major];
  if (year === undefined || today.getTime() < Date.UTC(year, 4)) return '';
  return `Node ${major} has been out of support since April ${year}. Install Node ${RECOMMENDED}, which is also faster.\n`;
}
