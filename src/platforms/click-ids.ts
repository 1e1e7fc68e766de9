import type { ClickId, Cookie, Manifest } from './manifest.js';
import { type ClickKind, type CookieKind, DEFINED_CLICK_IDS, MANIFESTS, type SentClickId } from './manifests.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Stored to show where a visitor came from; no supported platform accepts them. */
const OTHER_CLICK_KINDS = [
  'gclsrc',
  'gad_source',
  'gad_campaignid',
  'srsltid',
  'igshid',
  'irclickid',
  'tblci',
  'ob_click_id',
  'yclid',
  'awc',
  'oppref',
  'ctwa_clid',
] as const;
/** They mark a landing as one from an advertisement, and are not stored. */
const UNSTORED_CLICK_KINDS = ['igsh', 'irclid', 'obclid', 'dicbo'];
/** Sent as it is too, and not stored: the tag takes the click id out of it. */
const UNSTORED_COOKIES = ['_fbc'];
/** Cookies with the click id of a network that is no platform. */
const OTHER_CLICK_COOKIES = ['awc'];

export type StoredClickKind = ClickKind | (typeof OTHER_CLICK_KINDS)[number];

const ALL: readonly Manifest[] = MANIFESTS;

function byNumber([, one]: [string, { number: number }], [, other]: [string, { number: number }]): number {
  return one.number - other.number;
}

/** The click ids and cookies of all platforms, in the order of their numbers. */
export const CLICK_IDS = [
  ...ALL.flatMap(({ clickIds = {} }) => Object.entries(clickIds)),
  ...Object.entries(DEFINED_CLICK_IDS),
].sort(byNumber) as [ClickKind, ClickId][];
export const COOKIES = ALL.flatMap(({ cookies = {} }) => Object.entries(cookies)).sort(byNumber) as [
  CookieKind,
  Cookie,
][];

export const PLATFORM_CLICK_KINDS = CLICK_IDS.map(([kind]) => kind);
export const CLICK_KINDS: readonly StoredClickKind[] = [...PLATFORM_CLICK_KINDS, ...OTHER_CLICK_KINDS];
/** One of each platform. */
export const FIRST_CLICK_KINDS = PLATFORM_CLICK_KINDS.filter((kind) =>
  ALL.some(({ clickIds = {} }) => Object.keys(clickIds)[0] === kind),
);
export const COOKIE_KINDS = COOKIES.map(([kind]) => kind);

/** Click ids that a sender may state, with the names that platforms and their cookies use. */
export const SENT_CLICK_IDS = ALL.flatMap(({ sentClickIds = [] }) => sentClickIds) as readonly SentClickId[];

/** The click id that a sender's name stands for; undefined if it is the name of a cookie. */
export function kindOfSent(name: string): ClickKind | undefined {
  return PLATFORM_CLICK_KINDS.find((kind) => kind === name.toLowerCase());
}

export const ALTERNATIVE_CLICKS = ALL.flatMap(({ alternativeClicks: alternatives }) =>
  alternatives ? [{ number: alternatives.number, kinds: alternatives.kinds as readonly ClickKind[] }] : [],
);

/** What the browser tag looks for, as alternatives of regular expressions. */
export const TAG_NAMES = {
  clicks: [...CLICK_KINDS, ...UNSTORED_CLICK_KINDS].join('|'),
  cookies: [...COOKIES.flatMap(([kind, { part }]) => (part ? [] : [kind])), ...UNSTORED_COOKIES].join('|'),
  clickCookies: [...CLICK_IDS.flatMap(([kind, { cookie }]) => (cookie ? [kind] : [])), ...OTHER_CLICK_COOKIES].join(
    '|',
  ),
};

/** What people call a click with an id of this kind. */
export const CLICK_TITLES: Readonly<Record<string, string>> = Object.fromEntries(
  [...ALL, { label: '', clickIds: DEFINED_CLICK_IDS }].flatMap(({ label, clickIds = {} }) =>
    Object.entries(clickIds).map(([kind, { title = label }]) => [kind, title] as const),
  ),
);

const DAYS = new Map(CLICK_IDS.map(([kind, { days }]) => [kind, days]));

/** `ttlMs`: how long the service keeps identifiers. */
export function clickLifetimeMs(kind: ClickKind, ttlMs: number): number {
  const days = DAYS.get(kind);
  return days === undefined ? ttlMs : Math.min(ttlMs, days * DAY_MS);
}
