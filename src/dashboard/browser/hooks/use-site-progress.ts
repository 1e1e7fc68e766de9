import { api, dataOf, problemOf } from '../api.js';
import { firstFound } from '../first-found.js';
import type { SiteProgress } from '../views/first-steps-view.js';
import { type Loaded, useData } from './use-data.js';

/** How far a site is set up. Only what a new site has to have is asked for: one key, one conversion, one visit. */
export function useSiteProgress(site: string): Loaded<SiteProgress> {
  const params = { path: { site } };
  return useData(`progress ${site}`, async () => {
    const [keys, conversions, tag, connections, hasWebhook] = await Promise.all([
      dataOf(api.GET('/api/v1/sites/{site}/keys', { params })),
      firstFound((cursor) => {
        const query = { limit: 1, ...(cursor !== undefined && { cursor }) };
        return dataOf(api.GET('/api/v1/sites/{site}/conversions', { params: { ...params, query } }));
      }),
      dataOf(api.GET('/api/v1/sites/{site}/tag', { params })),
      dataOf(api.GET('/api/v1/sites/{site}/connections', { params })),
      hasWebhookOf(site),
    ]);
    return {
      hasKey: keys.items.some(({ status }) => status === 'active'),
      hasConversion: conversions.items.length > 0,
      isTagSeen: tag.seenAt !== undefined,
      isConnected: connections.items.some(({ connected }) => connected),
      hasWebhook,
    };
  });
}

async function hasWebhookOf(site: string): Promise<boolean> {
  try {
    await dataOf(api.GET('/api/v1/sites/{site}/webhook', { params: { path: { site } } }));
    return true;
  } catch (error) {
    if (problemOf(error).status === 404) return false;
    throw error;
  }
}
