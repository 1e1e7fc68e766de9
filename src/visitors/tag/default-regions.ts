const REGIONS_MAX = 300;
const REGION = /^[A-Z]{2}(?:-[A-Z0-9]{1,3})?$/;

/** Where a page denies consent by default: countries, or parts of them such as US-CA. */
export interface DefaultRegions {
  readonly denied: readonly string[];
  readonly granted: readonly string[];
  /** In all regions that are not named. */
  readonly elsewhere: boolean;
}

/** Reads untrusted input; undefined if it names no regions: the default applies everywhere. */
export function readDefaultRegions(value: unknown): DefaultRegions | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { denied, granted, elsewhere } = value as Record<string, unknown>;
  const regions = { denied: readRegions(denied), granted: readRegions(granted), elsewhere: elsewhere === true };
  return regions.denied.length + regions.granted.length > 0 ? regions : undefined;
}

function readRegions(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value
    .slice(0, REGIONS_MAX)
    .filter((region): region is string => typeof region === 'string' && REGION.test(region));
}

/** Whether the page denies by default in the country. Of a part of it that the page names, the visitor may be or not be. */
export function deniesIn(country: string, { denied, granted, elsewhere }: DefaultRegions): boolean {
  if (denied.some((region) => region.startsWith(country))) return true;
  return elsewhere && !granted.includes(country);
}
