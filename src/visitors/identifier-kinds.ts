import type { ClickKind, CookieKind } from '../platforms/conversion.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Click ids that platforms accept, with their lifetime in days at the platform. Undefined: `IDENTIFIER_TTL` applies. */
const LIFETIME_DAYS: Readonly<Record<ClickKind, number | undefined>> = {
  gclid: undefined,
  gbraid: undefined,
  wbraid: undefined,
  dclid: undefined,
  fbclid: undefined,
  ttclid: 28,
  msclkid: undefined,
  twclid: undefined,
  li_fat_id: 30,
  sccid: undefined,
  rdt_cid: 30,
  epik: undefined,
};

/** Stored to show where a visitor came from; no supported platform accepts them. */
const OTHER_CLICK_KINDS = [
  'gclsrc',
  'gad_source',
  'gad_campaignid',
  'srsltid',
  'igshid',
  'qclid',
  'irclickid',
  'tblci',
  'ob_click_id',
  'yclid',
  'awc',
  'oppref',
  'ctwa_clid',
] as const;

export type StoredClickKind = ClickKind | (typeof OTHER_CLICK_KINDS)[number];

export const PLATFORM_CLICK_KINDS = Object.keys(LIFETIME_DAYS) as ClickKind[];
export const CLICK_KINDS: readonly StoredClickKind[] = [...PLATFORM_CLICK_KINDS, ...OTHER_CLICK_KINDS];

export const COOKIE_KINDS: readonly CookieKind[] = [
  '_fbp',
  '_ttp',
  '_ga',
  '_ga_session',
  '_uetvid',
  '_scid',
  '_rdt_uuid',
];

export const UTM_FIELDS = [
  'source',
  'medium',
  'campaign',
  'term',
  'content',
  'id',
  'source_platform',
  'creative_format',
  'marketing_tactic',
] as const;

/** `ttlMs`: how long the service keeps identifiers. */
export function clickLifetimeMs(kind: ClickKind, ttlMs: number): number {
  const days = LIFETIME_DAYS[kind];
  return days === undefined ? ttlMs : Math.min(ttlMs, days * DAY_MS);
}
