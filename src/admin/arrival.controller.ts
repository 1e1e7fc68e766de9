import { Body, Controller, Get, Inject, Param, PayloadTooLargeException, Post, Query, Req } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiBody, ApiConsumes, ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { readBody } from '../http/read-body.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { EventLog } from '../log/event-log.js';
import { ProjectionRunner } from '../log/projections/projection-runner.js';
import { Arrival } from '../moves/arrival.js';
import { SECRET_MAX_CHARACTERS, SECRETS_MAX } from '../moves/secrets-limit.js';
import { isConnectionName } from '../platforms/connection-name.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteRepository } from '../sites/site-repository.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import type { Principal } from '../users/access.js';
import { Erasure } from '../visitors/erasure/erasure.js';
import { type AdminRequest, Caller, Requires } from './access/access.decorators.js';
import { Returns, ReturnsNothing } from './returns.decorator.js';
import { host } from './schemas.js';

/** Limit of a page. The other cell sends smaller ones. */
const PAGE_MAX_BYTES = 8 * 1024 * 1024;

const place = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const epoch = z.int().min(1).max(1_000_000).meta({ description: 'How often the site has moved, this time included.' });
const cell = z.string().min(1).max(100);
const base64 = z
  .string()
  .max(SECRET_MAX_CHARACTERS)
  .regex(/^[A-Za-z0-9+/]*={0,2}$/);

const beginningSchema = z
  .object({
    epoch,
    from: cell.meta({ description: 'Name of the cell that the site is in.' }),
    aliases: z.array(host).max(50),
    schema: z.int(),
    timeMs: z.number().meta({ description: "Of that cell's database." }),
    dedupSecret: base64.meta({ description: 'Base64.' }),
    known: z
      .object({ events: place, after: place, count: place })
      .strict()
      .optional()
      .meta({ description: 'What came from this cell, if the site was here before.' }),
  })
  .strict();

const arrivalSchema = z
  .object({
    epoch,
    from: cell,
    state: z.enum(['arriving', 'open']),
    reached: place.meta({ description: 'Everything up to this position of the other log is copied.' }),
    events: place.meta({ description: 'So many events.' }),
  })
  .meta({ id: 'Arrival' });

const cellStateSchema = z
  .object({
    cell,
    schema: z.int(),
    timeMs: z.number(),
    address: z.string().optional().meta({ description: 'Where it accepts requests of senders (CELL_ADDRESS).' }),
    arrival: arrivalSchema.optional(),
  })
  .meta({ id: 'CellState' });

const number = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);
const pageQuery = z.object({ epoch: number, after: number, last: number }).strict();

const erasuresSchema = z
  .object({
    epoch,
    events: z.array(z.object({ stream: z.uuid(), version: z.int().min(1), id: z.uuid() }).strict()).max(1_000),
  })
  .strict();

const secretsSchema = z
  .object({ epoch, secrets: z.array(z.object({ name: z.string().max(200), value: base64 }).strict()).max(SECRETS_MAX) })
  .strict();

const leasesSchema = z
  .object({
    epoch,
    leases: z
      .array(
        z
          .object({ conversion: z.uuid(), platform: z.string().max(100).refine(isConnectionName), until: z.number() })
          .strict(),
      )
      .max(10_000),
  })
  .strict();

const openingSchema = z.object({ epoch, position: place, head: z.string().regex(/^[0-9a-f]{64}$/) }).strict();

const erasedSchema = z
  .object({ left: place.meta({ description: 'People that are not erased yet.' }) })
  .meta({ id: 'ErasedArrival' });

/** Rows in the text format of COPY. They are read after the caller is known. */
function Rows(summary: string) {
  return (target: object, key: string | symbol, descriptor: PropertyDescriptor) => {
    ApiOperation({ summary })(target, key, descriptor);
    ApiConsumes('application/octet-stream')(target, key, descriptor);
    ApiBody({ schema: { type: 'string', format: 'binary', maxLength: PAGE_MAX_BYTES } })(target, key, descriptor);
  };
}

/** For other cells, whose `sites move` moves a site to this one. */
@ApiTags('Cells')
@Controller('sites/:site/arrival')
@Requires('move')
export class ArrivalController {
  private readonly arrival: Arrival;

  constructor(
    @Inject(SETTINGS) settings: Settings,
    postgres: Postgres,
    log: EventLog,
    sites: SiteRepository,
    secrets: SiteSecrets,
    erasure: Erasure,
    projections: ProjectionRunner,
    commands: CommandBus,
  ) {
    const inline = projections.all.filter((projection) => projection.inline);
    this.arrival = new Arrival({ settings, postgres, log, sites, secrets, commands, erasure, inline });
  }

  @Get()
  @ApiOperation({ summary: 'How far a site from another cell has arrived, and whether it can' })
  @Returns(cellStateSchema, 'This cell, and the last move of the site to it.')
  state(@Param('site', { schema: host }) site: string) {
    return this.arrival.state(site);
  }

  @Post()
  @ApiOperation({ summary: 'Begin to move a site here from another cell. It stays closed here until it is opened.' })
  @Returns(arrivalSchema, 'How far it has arrived.')
  begin(
    @Param('site', { schema: host }) site: string,
    @Body({ schema: beginningSchema }) { dedupSecret, ...beginning }: z.output<typeof beginningSchema>,
  ) {
    return this.arrival.begin({ ...beginning, site, dedupSecret: Buffer.from(dedupSecret, 'base64') });
  }

  @Post('events')
  @Rows('Copy events of a site that arrives')
  @Returns(arrivalSchema, 'How far it has arrived.')
  async storeEvents(
    @Param('site', { schema: host }) site: string,
    @Query({ schema: pageQuery }) { epoch, after, last }: z.output<typeof pageQuery>,
    @Req() request: AdminRequest,
    @Caller() { actor }: Principal,
  ) {
    return this.arrival.storeEvents({ site, epoch }, actor, { after, last, rows: await readRows(request) });
  }

  @Post('erased')
  @ApiOperation({ summary: 'Erase what the other cell has erased since it was copied' })
  @Returns(erasedSchema, 'It is erased, or a part of it: then the same is to be sent again.')
  storeErased(
    @Param('site', { schema: host }) site: string,
    @Body({ schema: erasuresSchema }) { epoch, events }: z.output<typeof erasuresSchema>,
    @Caller() { actor }: Principal,
  ) {
    return this.arrival.storeErased({ site, epoch }, actor, events);
  }

  @Post('secrets')
  @ApiOperation({ summary: 'Store the secrets of a site that arrives, sealed with the key of this cell' })
  @ReturnsNothing('They are stored.')
  async storeSecrets(
    @Param('site', { schema: host }) site: string,
    @Body({ schema: secretsSchema }) { epoch, secrets }: z.output<typeof secretsSchema>,
  ): Promise<void> {
    const decoded = secrets.map(({ name, value }) => ({ name, value: Buffer.from(value, 'base64') }));
    await this.arrival.storeSecrets({ site, epoch }, decoded);
  }

  @Post('leases')
  @ApiOperation({ summary: 'Store leases under which deliveries of a site that arrives may have been sent' })
  @ReturnsNothing('They are stored.')
  async storeLeases(
    @Param('site', { schema: host }) site: string,
    @Body({ schema: leasesSchema }) { epoch, leases }: z.output<typeof leasesSchema>,
  ): Promise<void> {
    await this.arrival.storeLeases({ site, epoch }, leases);
  }

  @Post('open')
  @ApiOperation({ summary: 'Open a site that has arrived: from here on this cell acts for it' })
  @Returns(arrivalSchema, 'It is open.')
  open(
    @Param('site', { schema: host }) site: string,
    @Body({ schema: openingSchema }) { epoch, ...other }: z.output<typeof openingSchema>,
    @Caller() { actor }: Principal,
  ) {
    return this.arrival.open({ site, epoch }, actor, other);
  }
}

async function readRows({ raw }: AdminRequest): Promise<Buffer> {
  const rows = await readBody(raw, PAGE_MAX_BYTES);
  if (!rows) throw new PayloadTooLargeException(`A page has at most ${PAGE_MAX_BYTES} bytes.`);
  return rows;
}
