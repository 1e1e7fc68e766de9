import { LOG, VERSION_STREAM } from '../events/log.events.js';
import { SITE } from '../events/site.events.js';
import type { EventLog } from '../log/event-log.js';
import { positionBefore } from '../sites/position-before.js';
import type { Period } from './buckets.js';

const ANNOTATIONS_MAX = 200;
/** Pages of the changes of all sites, read when some of the sites are asked for. */
const PAGES_MAX = 25;

const CHANGES = {
  'site.platform_parked.v1': 'parked',
  'site.platform_paused.v1': 'paused',
  'site.platform_resumed.v1': 'resumed',
  'site.platform_connected.v1': 'connected',
  'site.platform_disconnected.v1': 'disconnected',
} as const;
export const CONNECTION_CHANGES = Object.values(CHANGES);

interface ConnectionChange {
  readonly time: string;
  readonly kind: (typeof CONNECTION_CHANGES)[number];
  readonly site: string;
  readonly platform: string;
  readonly reason?: string;
}

/** The service was started with another version. */
interface VersionStart {
  readonly time: string;
  readonly kind: 'version';
  readonly version: string;
}

export type Annotation = ConnectionChange | VersionStart;

type Found<One extends Annotation> = One & { readonly position: number };

/** The newest ones of a period, oldest first. */
export async function readAnnotations(
  log: EventLog,
  sites: readonly string[],
  { fromMs, toMs }: Period,
): Promise<Annotation[]> {
  const rangeOf = async (site?: string) => ({
    after: await positionBefore(log, new Date(fromMs), site),
    until: await positionBefore(log, new Date(toMs), site),
  });
  const stored = await rangeOf();
  const ofSites = sites.length === 1 ? await rangeOf(sites[0]) : stored;
  const changes = await readChanges(log, sites, ofSites.after, ofSites.until);
  // Those that were copied in the period are not of the period.
  const isWithin = ({ time }: Annotation) => Date.parse(time) >= fromMs || ofSites !== stored;
  return [...changes.filter(isWithin), ...(await readVersions(log, stored.after, stored.until))]
    .sort((one, other) => Date.parse(one.time) - Date.parse(other.time) || one.position - other.position)
    .slice(-ANNOTATIONS_MAX)
    .map(({ position, ...annotation }) => annotation);
}

/** One per deployment: their stream is short. */
async function readVersions(log: EventLog, after: number, until: number): Promise<Found<VersionStart>[]> {
  const events = await log.readStream(LOG, VERSION_STREAM);
  return events.flatMap(({ position, time, type, data }) =>
    type === 'log.version_started.v1' && position > after && position <= until
      ? [{ position, time, kind: 'version' as const, version: data.version }]
      : [],
  );
}

async function readChanges(
  log: EventLog,
  sites: readonly string[],
  after: number,
  end: number,
): Promise<Found<ConnectionChange>[]> {
  let until = end;
  const types = Object.keys(CHANGES) as (keyof typeof CHANGES)[];
  const [site] = sites;
  const ofSite = site !== undefined && sites.length === 1 ? { site } : {};
  const options = { after, categories: [SITE], types, ...ofSite, newest: true, limit: ANNOTATIONS_MAX };
  const found: Found<ConnectionChange>[] = [];
  for (let page = 0; page < PAGES_MAX && found.length < ANNOTATIONS_MAX; page += 1) {
    const events = await log.read({ ...options, until });
    found.unshift(
      ...events
        .filter((event) => sites.includes(event.site))
        .map(({ position, time, site, type, data }) => ({
          position,
          time,
          kind: CHANGES[type],
          site,
          platform: data.platform,
          ...('reason' in data && data.reason !== undefined && { reason: data.reason }),
        })),
    );
    const [oldest] = events;
    if (!oldest || events.length < ANNOTATIONS_MAX) break;
    until = oldest.position - 1;
  }
  return found;
}
