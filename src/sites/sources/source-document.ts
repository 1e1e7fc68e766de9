import type { Site } from '../site.js';
import type { SiteSource } from './site-source.js';

/** A connected source as it is shown. `no_secret`: its deliveries are refused until the secret is set. */
export function sourceDocument({ host }: Pick<Site, 'host'>, connection: SiteSource, generatedSecret?: string) {
  const { source, keyId, mapping, hasSecret, previousUntil, createdAt } = connection;
  return {
    id: keyId,
    source,
    url: `https://${host}/__cc/sources/${source}/${keyId}`,
    state: hasSecret ? ('active' as const) : ('no_secret' as const),
    ...(generatedSecret !== undefined && { secret: generatedSecret }),
    ...(previousUntil !== undefined && { previousUntil }),
    mapping,
    createdAt,
  };
}
