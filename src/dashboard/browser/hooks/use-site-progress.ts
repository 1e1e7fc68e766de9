import { api, type Schemas } from '../api.js';
import { firstFound } from '../first-found.js';
import { problemOf } from '../problem.js';
import type { SiteProgress } from '../views/first-steps-view.js';
import { type Loaded, useData } from './use-data.js';

/** How far a site is set up. Only what a new site has to have is asked for: one key, one conversion, one visit. */
export function useSiteProgress(site: string): Loaded<SiteProgress> {
  const path = { site };
  return useData(`progress ${site}`, async () => {
    const [keys, conversions, tag, connections, webhook] = await Promise.all([
      api.GET('/api/v1/sites/{site}/keys', { path }),
      firstFound((cursor) => api.GET('/api/v1/sites/{site}/conversions', { path, query: { limit: 1, cursor } })),
      api.GET('/api/v1/sites/{site}/tag', { path }),
      api.GET('/api/v1/sites/{site}/connections', { path }),
      readWebhook(site),
    ]);
    return {
      hasKey: keys.items.some(({ status }) => status === 'active'),
      hasConversion: conversions.items.length > 0,
      isTagSeen: tag.seenAt !== undefined,
      isConnected: connections.items.some(({ connected }) => connected),
      hasWebhook: webhook !== null,
    };
  });
}

/** Null if the site has none. */
export async function readWebhook(site: string): Promise<Schemas['Webhook'] | null> {
  try {
    return await api.GET('/api/v1/sites/{site}/webhook', { path: { site } });
  } catch (error) {
    if (problemOf(error).status === 404) return null;
    throw error;
  }
}
