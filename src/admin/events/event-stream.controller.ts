import {
  BadRequestException,
  Controller,
  Get,
  NotFoundException,
  Query,
  Req,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { scopeStart } from '../../sites/site.js';
import { SiteRepository } from '../../sites/site-repository.js';
import { type Principal, seesSite } from '../../users/access.js';
import { type AdminRequest, Caller, Requires } from '../access/access.decorators.js';
import { type Credential, credentialOf } from '../access/credentials.js';
import { SameHost } from '../access/same-host.js';
import { host } from '../schemas.js';
import { findSite } from '../sites/site.param.js';
import { typeQuery, typesOf } from './event-pages.js';
import { EventStreams } from './event-streams.js';

const position = z.coerce.number().int().min(0).optional();
const streamQuery = z
  .object({
    site: host.optional(),
    type: typeQuery,
    after: position.meta({ description: 'Start after this position. `Last-Event-ID` takes precedence.' }),
    missed: z.coerce
      .number()
      .int()
      .min(0)
      .max(1_000)
      .optional()
      .meta({
        description:
          'Send only so many of the newest events that were missed. A message `skipped` says if there were more. ' +
          'Callers who may not see all sites need `site` with it.',
      }),
  })
  .strict();

@ApiTags('Events')
@Controller('events')
export class EventStreamController {
  constructor(
    private readonly streams: EventStreams,
    private readonly sites: SiteRepository,
    private readonly hosts: SameHost,
  ) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'Events as they happen (server-sent events), of one site or of all that you may see' })
  @ApiOkResponse({
    description: 'The id of each message is the position of the event, its data the event without personal data.',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
  })
  async stream(
    @Query({ schema: streamQuery }) { site, type, after, missed }: z.output<typeof streamQuery>,
    @Caller() principal: Principal,
    @Req() request: AdminRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    if (site !== undefined) {
      if (!seesSite(principal, site)) throw new NotFoundException(`There is no site ${site}.`);
      await findSite(this.sites, site);
    } else if (missed !== undefined && principal.sites !== 'all')
      // The newest events are counted before those of other sites are left out.
      throw new BadRequestException(
        '"missed" needs "site", because you may not see all sites. Open a stream for each site.',
      );
    const stream = await this.streams.open({
      principal,
      credential: credentialOf(request, this.hosts) as Credential,
      selection: { site, types: typesOf(type), after: await this.startsFor(principal) },
      after: lastEventIdOf(request) ?? after,
      missedMax: missed,
    });
    // Also if the caller left before the answer began, or sent HEAD.
    reply.raw.once('close', () => stream.destroy());
    if (reply.raw.destroyed) stream.destroy();
    // Proxies must not wait for the end of the answer.
    void reply.header('x-accel-buffering', 'no');
    return new StreamableFile(stream, { type: 'text/event-stream; charset=utf-8' });
  }

  /** If a site gets another one's host meanwhile, the stream ends: the access of its reader changes. */
  private async startsFor(principal: Principal): Promise<ReadonlyMap<string, number> | undefined> {
    if (principal.sites === 'all') return undefined;
    return new Map((await this.sites.all()).map((site) => [site.host, scopeStart(site)]));
  }
}

/** Browsers send it when they connect again. */
function lastEventIdOf({ headers }: AdminRequest): number | undefined {
  const { success, data } = position.safeParse(headers['last-event-id']);
  if (!success) throw new BadRequestException('Last-Event-ID is the position of an event.');
  return data;
}
