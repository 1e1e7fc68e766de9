import type { SentClickIds, SentIdentifiers } from '../../events/conversion.events.js';
import { ALTERNATIVE_CLICKS, kindOfSent, SENT_CLICK_IDS } from '../../platforms/click-ids.js';
import type { Click, Visit } from '../../platforms/conversion.js';
import type { ClickKind } from '../../platforms/manifests.js';

/** The names of clicks as senders and as this service write them. */
const KINDS = SENT_CLICK_IDS.flatMap((name) => {
  const kind = kindOfSent(name);
  return kind ? [[name, kind] as const] : [];
});

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
  // A stored gclid must not be sent in place of a stated gbraid.
  for (const { kinds } of ALTERNATIVE_CLICKS)
    if (kinds.some((kind) => clicks[kind])) for (const kind of kinds) delete kept[kind];
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
  for (const [name, kind] of KINDS) {
    const id = clickIds[name];
    if (id !== undefined) clicks[kind] = { id, timeMs };
  }
  // The cookie also has the time of the click: `fb.1.<milliseconds>.<fbclid>`.
  const [, clickedMs, fbclid] = /^fb\.\d\.(\d+)\.(.+)$/.exec(clickIds.fbc ?? '') ?? [];
  if (fbclid !== undefined) clicks.fbclid = { id: fbclid, timeMs: Number(clickedMs) };
  return clicks;
}
