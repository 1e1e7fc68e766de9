import { api } from './api.js';
import type { Destination } from './navigation.js';
import { type Problem, problemOf } from './problem.js';
import type { Conversion } from './views/conversions-view.js';
import { conversionHit, type FoundBy, lookupsOf } from './views/search-view.js';

const HITS_MAX = 10;
const NEWEST_ONLY = 'Only the newest events were searched for a phone or click id that came with an email.';

export interface Hits {
  readonly hits: readonly Destination[];
  /** What was not looked for, or not everywhere, and why. */
  readonly note?: string | undefined;
}

/** The conversions of a site that a text may mean. People are looked up only for those who may see personal data. */
export async function findHits(site: string, text: string, seesPeople: boolean): Promise<Hits> {
  const { conversion, order, email, phone, clickId } = lookupsOf(text);
  const path = { site };
  const incomplete: string[] = [];
  const ofPerson = async (body: { hash: string } | { phone: string } | { clickId: string }, by: FoundBy) => {
    const { items, complete } = await api.POST('/api/v1/sites/{site}/conversions/find', { path, body });
    if (!complete) incomplete.push(NEWEST_ONLY);
    return items.map((item) => [item, by] as const);
  };
  const searches: Promise<readonly (readonly [Conversion, FoundBy])[]>[] = [];
  if (conversion !== undefined)
    searches.push(
      api
        .GET('/api/v1/sites/{site}/conversions', { path, query: { conversion, limit: 1 } })
        .then(({ items }) => items.map((item) => [item, 'id'] as const)),
    );
  if (order !== undefined)
    searches.push(
      api
        .GET('/api/v1/sites/{site}/conversions', { path, query: { order, limit: HITS_MAX } })
        .then(({ items }) => items.map((item) => [item, 'order'] as const)),
    );
  if (seesPeople && email !== undefined) {
    if (!crypto.subtle) return { hits: [], note: 'Browsers hash an email on https pages and on localhost only.' };
    searches.push(hashOf(email).then((hash) => ofPerson({ hash }, 'email')));
  }
  if (seesPeople && phone !== undefined) searches.push(ofPerson({ phone }, 'phone').catch(noneIfInvalid));
  if (seesPeople && clickId !== undefined) searches.push(ofPerson({ clickId }, 'click id'));
  const found = (await Promise.all(searches)).flat();
  const byPath = new Map(found.map(([item, by]) => [item.conversionId, conversionHit(site, item, by)]));
  return { hits: [...byPath.values()].slice(0, HITS_MAX), note: incomplete[0] };
}

async function hashOf(email: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(email));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A number that looks like a phone need not be one. */
function noneIfInvalid(error: unknown): [] {
  const { status }: Pick<Problem, 'status'> = problemOf(error);
  if (status === 422) return [];
  throw error;
}
