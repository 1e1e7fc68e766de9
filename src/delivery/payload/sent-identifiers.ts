import type { SentIdentifiers } from '../../events/conversion.events.js';
import { ALTERNATIVE_CLICKS, kindOfSent, SENT_CLICK_IDS } from '../../platforms/click-ids.js';
import type { Click, SentClickIds, Visit } from '../../platforms/conversion.js';
import type { ClickKind, SentClickId } from '../../platforms/manifests.js';

import { withoutQuery } from '../../platforms/payload-fields.js';
import { readFbc } from '../../platforms/sent-clicks.js';

/** The names of clicks as senders and as this service write them. */
const KINDS = SENT_CLICK_IDS.flatMap((name) => {
  const kind = kindOfSent(name);
  return kind ? [[name, kind] as const] : [];
});

/** Ids of a lead form and of a WhatsApp advertisement: they belong to no visit of the site. */
const NO_VISIT: ReadonlySet<string> = new Set(['lead_id', 'ctwa_clid'] satisfies SentClickId[]);

/**
 * The visit with what the sender stated about the customer's browser in place of what is stored: the sender knows this conversion,
 * the stored visit is the person's newest one. Its UTM fields are those of the landing, which is more than the page of the order.
 */
export function withSentIdentifiers(
  visit: Visit | undefined,
  { clickIds, ipAddress, userAgent, pageUrl, referrer, cookies, utm }: SentIdentifiers,
  timeMs: number,
): Visit | undefined {
  const isClick = clickIds && SENT_CLICK_IDS.some((name) => !NO_VISIT.has(name) && clickIds[name] !== undefined);
  if (!(isClick || ipAddress || userAgent || pageUrl || referrer || cookies || utm)) return visit;
  const stored = visit ?? { clicks: {}, cookies: {}, utm: utm ?? {} };
  const clicks = sentClicks(clickIds ?? {}, timeMs);
  const kept = { ...stored.clicks };
  // A stored gclid must not be sent in place of a stated gbraid.
  for (const { kinds } of ALTERNATIVE_CLICKS)
    if (kinds.some((kind) => clicks[kind])) for (const kind of kinds) delete kept[kind];
  return {
    ...stored,
    // A referrer without its page would be that of another one.
    ...(pageUrl !== undefined && { pageUrl: withoutQuery(pageUrl), referrer: undefined }),
    ...(referrer !== undefined && { referrer: withoutQuery(referrer) }),
    ip: ipAddress ?? stored.ip,
    userAgent: userAgent ?? stored.userAgent,
    clicks: { ...kept, ...clicks },
    cookies: {
      ...(cookies?._ga === undefined ? stored.cookies : withoutSession(stored.cookies)),
      ...cookies,
      ...(clickIds?.fbp !== undefined && { _fbp: clickIds.fbp }),
    },
  };
}

/** A session belongs to its client. */
function withoutSession({ _ga_session: _, ...cookies }: Visit['cookies']): Visit['cookies'] {
  return cookies;
}

function sentClicks(clickIds: SentClickIds, timeMs: number): Partial<Record<ClickKind, Click>> {
  const clicks: Partial<Record<ClickKind, Click>> = {};
  for (const [name, kind] of KINDS) {
    const id = clickIds[name];
    if (id !== undefined) clicks[kind] = { id, timeMs };
  }
  const fbclid = readFbc(clickIds.fbc);
  if (fbclid) clicks.fbclid = fbclid;
  return clicks;
}
