import { SITE } from '../events/site.events.js';
import type { EventLog } from '../log/event-log.js';
import type { Period } from './buckets.js';

const ANNOTATIONS_MAX = 200;
/** Of changes of all sites, when some of them are asked for. */
const PAGES_MAX = 25;

const CHANGES = {
  'site.platform_parked.v1': 'parked',
  'site.platform_paused.v1': 'paused',
  'site.platform_resumed.v1': 'resumed',
  'site.platform_connected.v1': 'connected',
  'site.platform_disconnected.v1': 'disconnected',
} as const;
export const ANNOTATION_KINDS = Object.values(CHANGES);

/** What happened to a connection. */
export interface Annotation {
  readonly time: string;
  readonly site: string;
  readonly kind: (typeof ANNOTATION_KINDS)[number];
  readonly platform: string;
  readonly reason?: string;
}

/** The newest ones of a period, oldest first. */
export async function readAnnotations(
  log: EventLog,
  sites: readonly string[],
  { fromMs, toMs }: Period,
): Promise<Annotation[]> {
  const after = await log.positionBefore(new Date(fromMs));
  let until = await log.positionBefore(new Date(toMs));
  const types = Object.keys(CHANGES) as (keyof typeof CHANGES)[];
  const [site] = sites;
  const ofSite = site !== undefined && sites.length === 1 ? { site } : {};
  const options = { after, categories: [SITE], types, ...ofSite, newest: true, limit: ANNOTATIONS_MAX };
  const found: Annotation[] = [];
  for (let page = 0; page < PAGES_MAX && found.length < ANNOTATIONS_MAX; page += 1) {
    const events = await log.read({ ...options, until });
    found.unshift(
      ...events
        .filter((event) => sites.includes(event.site))
        .map(({ time, site, type, data }) => ({
          time,
          site,
          kind: CHANGES[type],
          platform: data.platform,
          ...('reason' in data && data.reason !== undefined && { reason: data.reason }),
        })),
    );
    const [oldest] = events;
    if (!oldest || events.length < ANNOTATIONS_MAX) break;
    until = oldest.position - 1;
  }
  return found.slice(-ANNOTATIONS_MAX);
}
