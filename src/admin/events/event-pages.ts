import { z } from 'zod';
import { EVENT_SCHEMAS } from '../../events/index.js';
import { type BackwardsOptions, pageBackwards } from '../../history/page-backwards.js';
import type { EventsOf } from '../../log/event.js';
import type { LogReads } from '../../log/event-log.js';
import { actorName, subjectName } from '../actor-names.js';
import { time } from '../schemas.js';

export const pageQuery = z.object({
  cursor: z.coerce.number().int().min(1).optional().meta({ description: '`next` of the page before.' }),
  limit: z.coerce.number().int().min(1).max(500).default(50),
});

const type = z.enum(Object.keys(EVENT_SCHEMAS) as [string, ...string[]]);

/** A filter by types of events. */
export const typeQuery = z
  .union([type, z.array(type).max(50)])
  .optional()
  .meta({ description: 'May be repeated.' });

export function typesOf(types: z.output<typeof typeQuery>): string[] | undefined {
  return types === undefined ? undefined : [types].flat();
}

const next = z.int().optional().meta({
  description: 'Cursor of the next page. Without it there is none; a page may have fewer items than its limit.',
});

export const pageOf = <Item extends z.ZodType>(item: Item) => z.object({ items: z.array(item), next });

const asOf = z
  .object({
    position: z.int().meta({ description: 'Every matching event up to this position was searched.' }),
    time: time.meta({ description: 'Every matching event before this time was searched.' }),
  })
  .meta({ id: 'ReadAsOf', description: 'With `DATABASE_READ_URL` a page may be read from a standby, which may lag.' });

/** A page that may be read from a standby. */
export const laggingPageOf = <Item extends z.ZodType>(item: Item) => pageOf(item).extend({ asOf });

export const eventSchema = z
  .object({
    position: z.int(),
    id: z.uuid(),
    type: z.string(),
    stream: z.string(),
    version: z.int(),
    site: z.string(),
    time,
    actor: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event', description: 'As on the topics: without personal data.' });

export const auditEventSchema = eventSchema.extend({ actorName, subjectName }).meta({ id: 'AuditEvent' });

/** The newest matching events before the cursor, each as its document. */
export async function pageOfEvents<Type extends string, Document extends object>(
  log: Pick<LogReads, 'read' | 'head'>,
  { cursor, ...options }: Omit<BackwardsOptions<Type>, 'before'> & { cursor: number | undefined },
  document: (event: EventsOf<Type>) => Document,
) {
  const end = (await log.head()) + 1;
  const before = Math.min(cursor ?? end, end);
  const { events, ...more } = await pageBackwards<Type>(log, { ...options, before });
  return { items: events.map(document), ...more };
}
