import { isLoopbackHost } from '../kernel/addresses.js';
import type { Site } from './site.js';

/** Marks a request that another cell has forwarded, with the name of that cell. It is not forwarded again. */
export const FORWARDED_BY = 'x-cc-forwarded-by';

/** Why a request for a site that has moved gets 503. Names of cells are for operators, not for senders. */
export const NOT_FORWARDED = {
  /** Permanent errors such as "not enabled" would make senders drop what this cell may have again in a moment. */
  unknown: 'The site has moved to this cell, which does not have it yet: send the request again',
  loop: 'Two cells say of each other that they have this site: send the request again when its move was completed',
  address: 'The site has moved to another cell, and its DNS name does not lead there yet: send the request again',
  silent: 'The site has moved to another cell, which does not answer: send the request again',
} as const;

export type ForwardingDecision =
  /** This cell answers, if only that it is temporarily unavailable. */
  | { readonly kind: 'here' }
  | { readonly kind: 'forward'; readonly to: string; readonly address: URL }
  | { readonly kind: 'refuse'; readonly reason: keyof typeof NOT_FORWARDED };

const HERE: ForwardingDecision = { kind: 'here' };

/** Which cell answers a request for the site. `by`: the cell that has forwarded the request to this one. */
export function decideForwarding(
  site: Pick<Site, 'host' | 'move'> | undefined,
  path: string,
  by: string | undefined,
): ForwardingDecision {
  if (!site) return by === undefined ? HERE : { kind: 'refuse', reason: 'unknown' };
  const { move } = site;
  if (move?.state !== 'left' || hasDotSegment(path)) return HERE;
  if (by !== undefined) return { kind: 'refuse', reason: 'loop' };
  const address = move.address === undefined ? undefined : safeAddress(move.address);
  return address ? { kind: 'forward', to: move.to, address } : { kind: 'refuse', reason: 'address' };
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
