import type { ClickKind, CookieKind } from '../platforms/conversion.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Click ids that some platform is told, and how many days it knows them. Undefined: as long as we keep them. */
const SENT: Readonly<Record<ClickKind, number | undefined>> = {
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

/** Kept for the record of where somebody came from; no platform of ours takes them. */
const KEPT = [
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

export type StoredClickKind = ClickKind | (typeof KEPT)[number];

export const SENT_CLICKS = Object.keys(SENT) as ClickKind[];
export const CLICK_KINDS: readonly StoredClickKind[] = [...SENT_CLICKS, ...KEPT];

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

/** How long a click id of this kind is good for. */
export function lifeOf(kind: ClickKind, keptMs: number): number {
  const days = SENT[kind];
  return days === undefined ? keptMs : Math.min(keptMs, days * DAY_MS);
}
