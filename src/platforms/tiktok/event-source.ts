import type { Conversion } from '../conversion.js';
import { BY_SOURCE_VERSION } from '../payload-version.js';
import type { Settings } from '../platform.js';

/** Where events come from, other than the website of the pixel, with the id that the source has at TikTok. */
export interface EventSource {
  readonly type: 'app' | 'offline' | 'crm';
  readonly id: string;
}

const GROUP = /^(app|offline|crm):(.+)$/s;

/** Undefined: the pixel, which also stands in for a source that the connection has no id of. */
export function eventSourceOf(conversion: Conversion, settings: Settings): EventSource | undefined {
  const { source, visit, payloadVersion } = conversion;
  const unsourced = visit ? undefined : sourceOf('crm', settings['crm_event_set_id']);
  if (payloadVersion < BY_SOURCE_VERSION) return unsourced;
  switch (source) {
    case 'website':
      return undefined;
    case 'app':
      return sourceOf('app', settings['app_id']);
    case 'physical_store':
    case 'phone_call':
      return isOffline(conversion, settings) ? sourceOf('offline', settings['offline_event_set_id']) : unsourced;
    case 'crm':
      return sourceOf('crm', settings['crm_event_set_id']);
    default:
      return unsourced;
  }
}

/** TikTok counts calls as offline events, too. */
export function isOffline({ source }: Pick<Conversion, 'source'>, settings: Settings): boolean {
  return (source === 'physical_store' || source === 'phone_call') && settings['offline_event_set_id'] !== undefined;
}

function sourceOf(type: EventSource['type'], id: string | undefined): EventSource | undefined {
  return id === undefined ? undefined : { type, id };
}

export function groupOf({ type, id }: EventSource): string {
  return `${type}:${id}`;
}

/** The source and its id as a request states them. */
export function sourceOfGroup(group: string | undefined, pixel: string | undefined) {
  const [, type = 'web', id = pixel] = GROUP.exec(group ?? '') ?? [];
  return { type, id };
}
