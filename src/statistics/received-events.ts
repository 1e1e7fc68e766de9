import type { ClientBase } from 'pg';
import { buildPayload } from '../delivery/payload/payload.js';
import { sampleReceived } from '../delivery/payload/sample-conversion.js';
import type { ReceivedConversion } from '../delivery/received-conversion.js';
import { canonicalText } from '../kernel/canonical-text.js';
import { mappedEvent } from '../platforms/event-mapping.js';
import { platformOfConnection } from '../platforms/index.js';
import type { Platform, Settings } from '../platforms/platform.js';
import { type StandardEvent, standardEventOf } from '../platforms/standard-event.js';
import type { Postgres } from '../postgres/postgres.js';
import type { SiteConnection } from '../sites/connections/connection.js';
import type { Site } from '../sites/site.js';
import { type Period, toQuarters } from './buckets.js';
import { type AsOf, readSnapshot } from './snapshot.js';

/** Senders may use any name: the most frequent ones. */
const EVENTS_MAX = 200;

export const EVENT_ROUTES = ['sent', 'not_mapped', 'not_selected'] as const;

/** Where conversions of an event go at a connection, with its settings as they are. */
export interface EventRoute {
  readonly platform: string;
  /** `not_mapped`: the platform has no event of this name. `not_selected`: the connection leaves it out. */
  readonly state: (typeof EVENT_ROUTES)[number];
  /** What the event could be mapped to: the platform's name, or the id that the standard event is mapped to. */
  readonly suggestion?: { readonly event: StandardEvent; readonly value: string };
}

export interface ReceivedEvent {
  readonly event: string;
  readonly conversions: number;
  /** The beginning of the last quarter of an hour in which one was received. */
  readonly lastSeen: string;
}

export interface ReceivedEvents {
  readonly asOf: AsOf;
  readonly from: string;
  readonly to: string;
  readonly items: readonly (ReceivedEvent & { readonly connections: readonly EventRoute[] })[];
}

/** The events of the conversions that a site received, the most frequent first, and where they go. */
export function readReceivedEvents(postgres: Postgres, site: Site, period: Period): Promise<ReceivedEvents> {
  const { fromMs, toMs } = toQuarters(period);
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  const connected = site.connections.filter(({ disconnected }) => !disconnected);
  return readSnapshot(postgres, ['statistics'], async (client) => {
    const events = (await readEvents(client, [site.host], from, to)).get(site.host) ?? [];
    const items = events.map((event) => ({
      ...event,
      connections: connected.map((connection) => routeOf(connection, event.event)),
    }));
    return { from: from.toISOString(), to: to.toISOString(), items };
  });
}

/** By site. */
export async function readEvents(
  client: ClientBase,
  sites: readonly string[],
  from: Date,
  to: Date,
): Promise<Map<string, ReceivedEvent[]>> {
  const { rows } = await client.query<{ site: string; event: string; conversions: number; last: Date }>(
    `SELECT site, event, conversions, last
       FROM (SELECT site, event, sum(conversions)::float8 AS conversions, max(quarter) AS last,
                    row_number() OVER (PARTITION BY site ORDER BY sum(conversions) DESC, event) AS place
               FROM cc.event_statistics WHERE site = ANY ($1) AND quarter >= $2 AND quarter < $3 GROUP BY site, event) counted
      WHERE place <= ${EVENTS_MAX} ORDER BY site, place`,
    [sites, from, to],
  );
  const found = new Map<string, ReceivedEvent[]>();
  for (const { site, event, conversions, last } of rows)
    found.set(site, [...(found.get(site) ?? []), { event, conversions, lastSeen: last.toISOString() }]);
  return found;
}

/** It has everything that a conversion may have, so that only the event decides. */
const SAMPLE = sampleReceived(0);

export function routeOf(connection: SiteConnection, event: string): EventRoute {
  const { platform: name, settings } = connection;
  const platform = platformOfConnection(connection) as Platform;
  const received: ReceivedConversion = { ...SAMPLE, data: { ...SAMPLE.data, event: canonicalText(event) } };
  const payload = buildPayload(received, platform, settings, { platform: name });
  const reason = 'skip' in payload ? payload.skip : undefined;
  const state =
    reason === 'event_not_mapped' ? 'not_mapped' : reason === 'event_not_selected' ? 'not_selected' : 'sent';
  const suggestion = state === 'not_selected' ? undefined : suggestionFor(platform, settings, event);
  return { platform: name, state, ...(suggestion && { suggestion }) };
}

/** Nothing for an event that is mapped, or that the platform knows. */
function suggestionFor(platform: Platform, settings: Settings, event: string): EventRoute['suggestion'] {
  if (mappedEvent(settings, event) !== undefined || platform.eventNames?.has(canonicalText(event))) return undefined;
  const standard = standardEventOf(event);
  if (standard === undefined) return undefined;
  const value = mappedEvent(settings, standard) ?? platform.eventNames?.get(standard);
  return value === undefined ? undefined : { event: standard, value };
}
