import { Body, Controller, Get, NotFoundException, Param, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { findPeople, subjectsOf } from '../conversions/named-person.js';
import { TooManyRequests } from '../kernel/errors.js';
import type { EventsOf } from '../log/event.js';
import { findOtherCopies } from '../moves/departures.js';
import { scopeStart } from '../sites/site.js';
import type { Principal } from '../users/access.js';
import { TokensService } from '../users/tokens.service.js';
import { UsersService } from '../users/users.service.js';
import { EraseSubject } from '../visitors/erasure/erase-subject.command.js';
import { Erasure } from '../visitors/erasure/erasure.js';
import { Caller, Requires } from './access/access.decorators.js';
import { actorName, withActorNames } from './actor-names.js';
import { Dependencies } from './dependencies.js';
import { pageOf, pageOfEvents, pageQuery } from './events/event-pages.js';
import { Returns } from './returns.decorator.js';
import { host, time } from './schemas.js';
import { scopeOf } from './sites/site.param.js';

/** Each takes a connection of its own, and waits while a projection is rebuilt. */
const AT_ONCE_MAX = 4;

const dryRun = z.boolean().default(false).meta({ description: 'Count what would be erased, and erase nothing.' });
const newErasureSchema = z.union([
  z.object({ email: z.string().max(320), dryRun }).strict(),
  z.object({ hash: z.string().max(64).meta({ description: 'SHA-256 of the normalised address.' }), dryRun }).strict(),
  z.object({ phone: z.string().max(64), dryRun }).strict(),
  z
    .object({ externalId: z.string().max(128).meta({ description: "The sender's id of the person." }), dryRun })
    .strict(),
  z.object({ clickId: z.string().max(500).meta({ description: 'Id of a click of the person.' }), dryRun }).strict(),
]);

const counts = {
  events: z.int().meta({ description: 'Events that lost their personal part.' }),
  identifiers: z.int(),
  claims: z.int().meta({ description: 'Dedup keys that were made from the person.' }),
};

const erasureSchema = z
  .object({
    site: host,
    dryRun: z.boolean(),
    ...counts,
    alsoIn: z.array(z.string()).optional().meta({
      description: 'Cells that have a copy of the site from a move: the person has to be erased there as well.',
    }),
  })
  .meta({ id: 'Erasure' });

const recordedErasureSchema = z
  .object({
    position: z.int().meta({ description: 'Of the event that states the erasure.' }),
    id: z.uuid(),
    time,
    actor: z.string(),
    actorName,
    ...counts,
    unidentified: z.literal(true).optional().meta({ description: 'Visits for which no email was given expired.' }),
    expired: z.literal(true).optional().meta({ description: 'Personal parts were older than PERSONAL_RETENTION.' }),
  })
  .meta({ id: 'RecordedErasure' });

@ApiTags('Erasures')
@Controller('sites/:site/erasures')
export class ErasuresController {
  private running = 0;

  constructor(
    private readonly dependencies: Dependencies,
    private readonly erasure: Erasure,
    private readonly users: UsersService,
    private readonly tokens: TokensService,
  ) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'The erasures of a site, newest first' })
  @Returns(
    pageOf(recordedErasureSchema),
    'One page. The log says when, who erased and how much, and nothing about persons.',
  )
  async list(
    @Param('site', { schema: host }) name: string,
    @Query({ schema: pageQuery.strict() }) { cursor, limit }: z.output<typeof pageQuery>,
    @Caller() caller: Principal,
  ) {
    const scope = scopeOf(caller, await this.find(name));
    const options = {
      site: scope.host,
      after: scopeStart(scope),
      cursor,
      limit,
      types: ['visitor.erased.v1'] as const,
    };
    const { items, ...more } = await pageOfEvents(this.dependencies.log, options, recordedErasure);
    return { items: await withActorNames(this.users, this.tokens, items), ...more };
  }

  @Post()
  @Requires('erase')
  @ApiOperation({
    summary: 'Erase the personal data of a person: hashes, identifiers and visits. Events and totals stay.',
  })
  @Returns(erasureSchema, 'What was erased. The person is not repeated.')
  async erase(
    @Param('site', { schema: host }) name: string,
    @Body({ schema: newErasureSchema }) { dryRun, ...person }: z.output<typeof newErasureSchema>,
    @Caller() caller: Principal,
  ) {
    const { commands, postgres, settings, secrets } = this.dependencies;
    const site = await this.find(name);
    const after = scopeStart(scopeOf(caller, site));
    const naming = { ...site, secret: await secrets.dedupSecret(site.host) };
    // Refuses a name that is none before it counts as running.
    subjectsOf(person, naming);
    if (this.running >= AT_ONCE_MAX)
      throw new TooManyRequests('Other erasures are being carried out. Try again in a minute.', 60);
    this.running += 1;
    try {
      const people = await findPeople(postgres.pool, person, naming, after);
      const [subject, ...linked] = people;
      const counts = dryRun
        ? await this.erasure.preview(site.host, people, after)
        : await commands.execute(new EraseSubject(caller.actor, site.host, subject, after, linked));
      const others = await findOtherCopies(postgres.pool, site.host, settings.cell);
      const alsoIn = others.filter(({ isCarried }) => !isCarried).map(({ cell }) => cell);
      return { site: site.host, dryRun, ...counts, ...(alsoIn.length > 0 && { alsoIn }) };
    } finally {
      this.running -= 1;
    }
  }

  /** Also a removed site, whose events stay. */
  private async find(name: string) {
    const site = (await this.dependencies.sites.everAdded()).find((candidate) => candidate.host === name);
    if (!site) throw new NotFoundException(`There is no site ${name}.`);
    return site;
  }
}

function recordedErasure({ position, id, time, actor, data }: EventsOf<'visitor.erased.v1'>) {
  return { position, id, time, actor, ...data };
}
