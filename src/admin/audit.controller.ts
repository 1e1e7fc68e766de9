import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { NO_SITE } from '../events/log.events.js';
import { USER } from '../events/user.events.js';
import { redactEvent } from '../history/redact-event.js';
import { EventLog } from '../log/event-log.js';
import { TokensService } from '../users/tokens.service.js';
import { UsersService } from '../users/users.service.js';
import { RequiresUser } from './access/access.decorators.js';
import { withUserNames } from './actor-names.js';
import { auditEventSchema, pageOf, pageOfEvents, pageQuery } from './events/event-pages.js';
import { Returns } from './returns.decorator.js';

const auditQuery = pageQuery.strict();

@ApiTags('Users')
@Controller('audit')
export class AuditController {
  constructor(
    private readonly log: EventLog,
    private readonly users: UsersService,
    private readonly tokens: TokensService,
  ) {}

  @Get()
  @RequiresUser('administer')
  @ApiOperation({ summary: 'Who changed users, tokens and OAuth apps, newest first' })
  @Returns(
    pageOf(auditEventSchema),
    'One page. The stream names the user that was changed, the actor who made the change.',
  )
  async list(@Query({ schema: auditQuery }) { cursor, limit }: z.output<typeof auditQuery>) {
    const options = { site: NO_SITE, cursor, limit, categories: [USER] };
    const { items, ...more } = await pageOfEvents(this.log, options, redactEvent);
    return { items: await withUserNames(this.users, this.tokens, items), ...more };
  }
}
