import { isLoopbackHost } from '../kernel/addresses.js';
import type { Site } from '../sites/site.js';

/** Marks a request that another cell has forwarded, with the name of that cell. It is not forwarded again. */
export const FORWARDED_BY = 'x-cc-forwarded-by';

export type ForwardingDecision =
  /** This cell answers, if only that it is temporarily unavailable. */
  | { readonly kind: 'here' }
  | { readonly kind: 'forward'; readonly to: string; readonly address: URL }
  | { readonly kind: 'refuse'; readonly reason: string };

const HERE: ForwardingDecision = { kind: 'here' };

/** Which cell answers a request for the site. `by`: the cell that has forwarded the request to this one. */
export function decideForwarding(
  site: Pick<Site, 'host' | 'move'> | undefined,
  path: string,
  by: string | undefined,
): ForwardingDecision {
  // Permanent errors such as "not enabled" would make senders drop what this cell may have again in a moment.
  if (!site) return by === undefined ? HERE : refuse('This cell does not have the site that was moved to it.');
  const { move } = site;
  if (move?.state !== 'left' || hasDotSegment(path)) return HERE;
  if (by !== undefined)
    return refuse(`Two cells say of each other that they have this site. Continue its move with "sites move".`);
  const address = move.address === undefined ? undefined : safeAddress(move.address);
  if (!address)
    return refuse(
      `The site has moved to cell ${move.to}, whose CELL_ADDRESS was not set. Let its DNS name lead there.`,
    );
  return { kind: 'forward', to: move.to, address };
}

function refuse(reason: string): ForwardingDecision {
  return { kind: 'refuse', reason };
}

/** API keys and personal data pass there: never in plain HTTP over a network. */
function safeAddress(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:') return url;
  return url?.protocol === 'http:' && isLoopbackHost(url.hostname) ? url : undefined;
}

/** A proxy of the other cell might resolve it, and so reach paths that are not for senders. */
function hasDotSegment(path: string): boolean {
  const [beforeQuery = ''] = path.split('?', 1);
  return /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)/i.test(beforeQuery.replaceAll(/%2f|%5c/gi, '/'));
}
