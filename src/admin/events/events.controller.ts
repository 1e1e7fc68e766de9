import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { SITE } from '../../events/site.events.js';
import { type AttemptEvent, findAttempts } from '../../history/find-attempts.js';
import { redactEvent } from '../../history/redact-event.js';
import { withResolutions } from '../../history/resolved-attempts.js';
import { withConversions } from '../../history/with-conversions.js';
import { readLagging } from '../../log/read-lagging.js';
import { lineOf } from '../../outbound/sync-log.js';
import { platformOf } from '../../platforms/index.js';
import { type Site, type SiteScope, scopeStart } from '../../sites/site.js';
import type { Principal } from '../../users/access.js';
import { TokensService } from '../../users/tokens.service.js';
import { UsersService } from '../../users/users.service.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { withActorNames } from '../actor-names.js';
import { syncLineSchema, syncQuery } from '../conversions/attempts.schemas.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { SiteParam, scopeOf } from '../sites/site.param.js';
import {
  auditEventSchema,
  eventSchema,
  laggingPageOf,
  pageOf,
  pageOfEvents,
  pageQuery,
  typeQuery,
  typesOf,
} from './event-pages.js';

const eventsQuery = pageQuery.extend({ type: typeQuery }).strict();

@ApiTags('Events')
@Controller('sites/:site')
export class EventsController {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly users: UsersService,
    private readonly tokens: TokensService,
  ) {}

  @Get('events')
  @Requires('read')
  @ApiOperation({ summary: 'The events of a site, newest first' })
  @Returns(laggingPageOf(eventSchema), 'One page.')
  async list(
    @SiteParam() site: Site,
    @Query({ schema: eventsQuery }) { cursor, limit, type }: z.output<typeof eventsQuery>,
    @Caller() caller: Principal,
  ) {
    const scope = scopeOf(caller, site);
    const types = typesOf(type);
    return readLagging(
      this.dependencies.postgres,
      (log) => pageOfEvents(log, { ...readOf(scope), cursor, limit, ...(types && { types }) }, redactEvent),
      cursor,
    );
  }

  @Get('sync-log')
  @Requires('read')
  @ApiOperation({
    summary: 'Search attempts to deliver conversions and to push totals, and refused conversions, newest first',
  })
  @Returns(laggingPageOf(syncLineSchema), 'One page.')
  async syncLog(
    @SiteParam() site: Site,
    @Query({ schema: syncQuery }) { kind, status, cursor, limit, ...filter }: z.output<typeof syncQuery>,
    @Caller() caller: Principal,
  ) {
    const statuses = status === undefined ? undefined : [status];
    const search = { ...filter, kind, statuses, cursor, limit };
    const { postgres, secrets } = this.dependencies;
    const dedupSecret = filter.order === undefined ? undefined : await secrets.dedupSecret(site.host);
    return readLagging(
      postgres,
      async (log, client) => {
        const { events, openings, ...more } = await findAttempts(
          { log, dedupSecret, read: (read) => read(client) },
          { ...site, since: scopeOf(caller, site).since },
          search,
        );
        const lines = await withResolutions(log, events.map(toLine));
        return { items: await withConversions(log, lines, openings), ...more };
      },
      cursor,
    );
  }

  @Get('audit')
  @Requires('read')
  @ApiOperation({ summary: 'Who changed the site and its settings, newest first' })
  @Returns(
    pageOf(auditEventSchema),
    'One page. The actor of each event says who: a user, a token, the command line or the service.',
  )
  async audit(
    @SiteParam() site: Site,
    @Query({ schema: pageQuery.strict() }) { cursor, limit }: z.output<typeof pageQuery>,
    @Caller() caller: Principal,
  ) {
    const scope = scopeOf(caller, site);
    const options = { ...readOf(scope), cursor, limit, categories: [SITE] };
    const { items, ...more } = await pageOfEvents(this.dependencies.log, options, redactEvent);
    return { items: await withActorNames(this.users, this.tokens, items), ...more };
  }
}

function toLine(event: AttemptEvent) {
  const line = lineOf(event);
  const fix = line.platform === undefined ? undefined : platformOf(line.platform)?.fix?.(line.reason ?? '');
  return { position: event.position, ...line, ...(fix !== undefined && { fix }) };
}

const readOf = (scope: SiteScope) => ({ site: scope.host, after: scopeStart(scope) });
