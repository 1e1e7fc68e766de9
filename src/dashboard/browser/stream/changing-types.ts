import type { EventType } from '../api.js';
import { typesOf } from './live-events.js';

const CONVERSIONS = typesOf('conversions') ?? [];
const DELIVERIES = typesOf('deliveries') ?? [];

const CONNECTIONS = (typesOf('changes') ?? []).filter((type) => type.startsWith('site.platform_'));

/** Which events change what a page shows of a site, by resource. */
export const CHANGING = {
  /** Totals and series, which also name what happened to connections. */
  figures: [
    ...CONVERSIONS,
    ...DELIVERIES,
    ...(typesOf('refused') ?? []),
    ...(['visitor.bot_detected.v1', 'visitor.rejudged.v1', 'visitor.erased.v1'] as const),
    ...CONNECTIONS,
  ],
  /** By source, campaign or click, and match quality. */
  sources: ['conversion.received.v1', 'conversion.reopened.v1', 'visitor.erased.v1'],
  unusedFields: ['conversion.received.v1'],
  /** Connections, and how many deliveries wait. */
  connections: ['conversion.received.v1', ...DELIVERIES, ...CONNECTIONS],
  /** Apart from what only time changes. */
  attention: [
    ...(typesOf('changes') ?? []),
    ...(typesOf('pushes') ?? []),
    ...(['conversion.failed.v1', 'conversion.rejected.v1'] as const),
  ],
} as const satisfies Readonly<Record<string, readonly EventType[]>>;
