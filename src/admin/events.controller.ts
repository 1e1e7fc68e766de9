import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { EVENT_SCHEMAS } from '../events/index.js';
import { SITE } from '../events/site.events.js';
import { redactEvent } from '../history/redact-event.js';
import type { StoredEvent } from '../log/event.js';
import { ATTEMPT_TYPES, lineOf } from '../outbound/sync-log.js';
import { CONNECTION_NAME_PATTERN } from '../platforms/connection-name.js';
import { Requires } from './access.decorators.js';
import { Dependencies } from './dependencies.js';
import { eventSchema, pageOf, pageOfEvents, pageQuery } from './event-pages.js';
import { Returns } from './returns.decorator.js';
import { host, time } from './schemas.js';
import { findSite } from './sites.controller.js';

const eventsQuery = pageQuery
  .extend({ type: z.enum(Object.keys(EVENT_SCHEMAS) as [string, ...string[]]).optional() })
  .strict();
const syncQuery = pageQuery
  .extend({
    platform: z.string().regex(new RegExp(CONNECTION_NAME_PATTERN)).optional(),
    status: z.string().max(20).optional(),
  })
  .strict();

const syncLineSchema = z
  .object({
    position: z.int(),
    time,
    kind: z.enum(['delivery', 'push', 'inbound']),
    platform: z.string().optional(),
    conversionId: z.uuid().optional(),
    attempt: z.int(),
    status: z.string(),
    reason: z.string().optional(),
    httpStatus: z.int().optional(),
    durationMs: z.int(),
    nextTry: time.optional(),
    window: z.record(z.string(), z.unknown()).optional(),
    payload: z.object({ conversions: z.int(), bot_traffic_removed: z.int() }).optional(),
    since: time.optional(),
    count: z.int().optional(),
    reasons: z.record(z.string(), z.int()).optional(),
    sample: z.array(z.object({ time, reason: z.string(), by: z.string() })).optional(),
  })
  .meta({ id: 'SyncLine' });

@ApiTags('Events')
@Controller('sites/:site')
export class EventsController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get('events')
  @Requires('read')
  @ApiOperation({ summary: 'The events of a site, newest first' })
  @Returns(pageOf(eventSchema), 'One page.')
  async list(
    @Param('site', { schema: host }) name: string,
    @Query({ schema: eventsQuery }) { cursor, limit, type }: z.output<typeof eventsQuery>,
  ) {
    const { host: site } = await findSite(this.dependencies.sites, name);
    return pageOfEvents(
      this.dependencies.log,
      { site, cursor, limit, ...(type !== undefined && { types: [type] }) },
      redactEvent,
    );
  }

  @Get('sync-log')
  @Requires('read')
  @ApiOperation({
    summary: 'Attempts to deliver conversions and to push totals, and refused conversions, newest first',
  })
  @Returns(pageOf(syncLineSchema), 'One page.')
  async syncLog(
    @Param('site', { schema: host }) name: string,
    @Query({ schema: syncQuery }) { cursor, limit, platform, status }: z.output<typeof syncQuery>,
  ) {
    const { host: site } = await findSite(this.dependencies.sites, name);
    const matches = (event: StoredEvent<(typeof ATTEMPT_TYPES)[number]>) => {
      const line = lineOf(event);
      return (platform ?? line.platform) === line.platform && (status ?? line.status) === line.status;
    };
    return pageOfEvents(this.dependencies.log, { site, cursor, limit, types: ATTEMPT_TYPES, matches }, (event) => {
      return { position: event.position, ...lineOf(event) };
    });
  }

  @Get('audit')
  @Requires('read')
  @ApiOperation({ summary: 'Who changed the site and its settings, newest first' })
  @Returns(
    pageOf(eventSchema),
    'One page. The actor of each event says who: a user, a token, the command line or the service.',
  )
  async audit(
    @Param('site', { schema: host }) name: string,
    @Query({ schema: pageQuery.strict() }) { cursor, limit }: z.output<typeof pageQuery>,
  ) {
    const { host: site } = await findSite(this.dependencies.sites, name);
    return pageOfEvents(this.dependencies.log, { site, cursor, limit, categories: [SITE] }, redactEvent);
  }
}
