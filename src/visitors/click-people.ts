import { clickKey, type PersonKey } from '../events/person-keys.js';
import type { SiteSettings } from '../events/site.events.js';
import type { TagClick } from '../events/visitor.events.js';
import { PLATFORM_CLICK_KINDS } from '../platforms/click-ids.js';

/** A landing has one click, with up to three ids. More would let a caller multiply what a call stores. */
const CLICKS_MAX = 3;

/** The people that a call of the tag is about besides its visitor: those of its newest clicks, if the site knows people by clicks. */
export function clickPeople(
  { identifyBy }: Pick<SiteSettings, 'identifyBy'>,
  clicks: Readonly<Partial<Record<string, TagClick>>>,
): PersonKey[] {
  if (identifyBy === 'email') return [];
  const found = PLATFORM_CLICK_KINDS.flatMap((kind) => {
    const click = clicks[kind];
    return click ? [click] : [];
  });
  found.sort((one, other) => other.timeMs - one.timeMs);
  return [...new Set(found.slice(0, CLICKS_MAX).map(({ id }) => clickKey(id)))];
}
