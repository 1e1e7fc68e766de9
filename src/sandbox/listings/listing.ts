import type { FailureAnswers, PlatformDouble, SandboxAnswer, SandboxRequest } from '../double.js';

/** The endpoints of a platform that list what an account has. Like a double, it shares no code with `src/platforms`. */
export interface ListingDouble {
  serves(request: SandboxRequest): boolean;
  answer(request: SandboxRequest): SandboxAnswer;
  /** If they differ from those of the double. */
  readonly failures?: FailureAnswers;
}

/** Small, so that short lists have several pages. */
const PAGE_SIZE = 2;

/** The page that starts at the cursor, which is a number here. Undefined if there is no such page. */
export function pageOf<Item>(
  items: readonly Item[],
  cursor: string | null,
): { readonly items: readonly Item[]; readonly next: string | undefined } | undefined {
  const start = cursor === null ? 0 : Number(/^\d{1,4}$/.test(cursor) ? cursor : Number.NaN);
  if (!(start <= items.length)) return undefined;
  const end = start + PAGE_SIZE;
  return { items: items.slice(start, end), next: end < items.length ? String(end) : undefined };
}

/** The double, which also lists what an account has. */
export function withListing(double: PlatformDouble, listing: ListingDouble | undefined): PlatformDouble {
  if (!listing) return double;
  return {
    ...double,
    callKind: (request) => (listing.serves(request) ? 'list' : (double.callKind?.(request) ?? 'events')),
    answer: (request) => (listing.serves(request) ? listing.answer(request) : double.answer(request)),
    fail(kind, request) {
      const ownFailure = listing.serves(request) ? listing.failures?.[kind] : undefined;
      return ownFailure ? ownFailure(request) : double.fail(kind, request);
    },
  };
}
