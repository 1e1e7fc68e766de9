import type { SentClickIds, SentIdentifiers } from '../events/conversion.events.js';
import type { Click, ClickKind, Visit } from '../platforms/conversion.js';

/** The names of clicks as senders and as this service write them. */
const KINDS = {
  gclid: 'gclid',
  gbraid: 'gbraid',
  wbraid: 'wbraid',
  fbclid: 'fbclid',
  ttclid: 'ttclid',
  msclkid: 'msclkid',
  li_fat_id: 'li_fat_id',
  epik: 'epik',
  ScCid: 'sccid',
  rdt_cid: 'rdt_cid',
  twclid: 'twclid',
} as const satisfies Partial<Record<keyof SentClickIds, ClickKind>>;

/** One click of Google has one of these ids: a stored gclid must not be sent in place of a stated gbraid. */
const GOOGLE: readonly ClickKind[] = ['gclid', 'gbraid', 'wbraid'];

/**
 * The visit with what the sender stated about the customer's browser in place of what is stored: the sender knows this conversion,
 * the stored visit is the person's newest one.
 */
export function withSentIdentifiers(
  visit: Visit | undefined,
  { clickIds, ipAddress, userAgent }: SentIdentifiers,
  timeMs: number,
): Visit | undefined {
  if (!clickIds && ipAddress === undefined && userAgent === undefined) return visit;
  const stored = visit ?? { clicks: {}, cookies: {}, utm: {} };
  const clicks = sentClicks(clickIds ?? {}, timeMs);
  const kept = { ...stored.clicks };
  if (GOOGLE.some((kind) => clicks[kind])) for (const kind of GOOGLE) delete kept[kind];
  return {
    ...stored,
    ip: ipAddress ?? stored.ip,
    userAgent: userAgent ?? stored.userAgent,
    clicks: { ...kept, ...clicks },
    cookies: clickIds?.fbp === undefined ? stored.cookies : { ...stored.cookies, _fbp: clickIds.fbp },
  };
}

function sentClicks(clickIds: SentClickIds, timeMs: number): Partial<Record<ClickKind, Click>> {
  const clicks: Partial<Record<ClickKind, Click>> = {};
  for (const [name, kind] of Object.entries(KINDS)) {
    const id = clickIds[name as keyof typeof KINDS];
    if (id !== undefined) clicks[kind] = { id, timeMs };
  }
  // The cookie also has the time of the click: `fb.1.<milliseconds>.<fbclid>`.
  const [, clickedMs, fbclid] = /^fb\.\d\.(\d+)\.(.+)$/.exec(clickIds.fbc ?? '') ?? [];
  if (fbclid !== undefined) clicks.fbclid = { id: fbclid, timeMs: Number(clickedMs) };
  return clicks;
}
