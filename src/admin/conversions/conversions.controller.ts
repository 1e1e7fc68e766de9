import { Body, Controller, Get, HttpCode, HttpStatus, NotFoundException, Param, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { conversionHistory, readConversion, statusOf } from '../../history/conversion-history.js';
import { conversionView } from '../../history/conversion-view.js';
import { type FoundConversion, findConversions } from '../../history/conversions/find-conversions.js';
import { findOfPerson } from '../../history/conversions/find-of-person.js';
import { readLagging } from '../../log/read-lagging.js';
import { type Site, scopeStart } from '../../sites/site.js';
import { type Principal, seesPersonalData } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { laggingPageOf } from '../events/event-pages.js';
import { Returns } from '../returns.decorator.js';
import { SiteParam, scopeOf } from '../sites/site.param.js';
import {
  conversionIdSchema,
  conversionSchema,
  conversionsQuery,
  foundSchema,
  historySchema,
  personSchema,
} from './conversions.schemas.js';

/** Of a person. */
const FOUND_MAX = 20;

@ApiTags('Conversions')
@Controller('sites/:site/conversions')
export class ConversionsController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'Search the conversions of a site, with what became of their deliveries, newest first' })
  @Returns(laggingPageOf(conversionSchema), 'One page.')
  async list(
    @SiteParam() site: Site,
    @Query({ schema: conversionsQuery }) search: z.output<typeof conversionsQuery>,
    @Caller() caller: Principal,
  ) {
    const scope = scopeOf(caller, site);
    const { postgres, secrets } = this.dependencies;
    const secret = search.order === undefined ? undefined : await secrets.dedupSecret(scope.host);
    return readLagging(
      postgres,
      async (log) => {
        const { found, ...more } = await findConversions(log, scope, search, secret);
        return { items: found.map(conversionOf), ...more };
      },
      search.cursor,
    );
  }

  @Post('find')
  @HttpCode(HttpStatus.OK)
  @Requires('write')
  @ApiOperation({ summary: 'The conversions of a person, named by the hash of an email, a phone or a click id' })
  @Returns(foundSchema, 'Nothing is changed. The person is not repeated.')
  async find(
    @SiteParam() site: Site,
    @Body({ schema: personSchema }) person: z.output<typeof personSchema>,
    @Caller() caller: Principal,
  ) {
    const { postgres, secrets } = this.dependencies;
    const secret = await secrets.dedupSecret(site.host);
    const naming = { ...site, secret, after: scopeStart(scopeOf(caller, site)) };
    const { found, isComplete } = await readLagging(postgres, (log, client) =>
      findOfPerson(log, client, naming, person, FOUND_MAX),
    );
    return { items: found.map(conversionOf), complete: isComplete };
  }

  @Get(':id')
  @Requires('read')
  @ApiOperation({ summary: 'The history of a conversion: receipt, match, consent, bot verdict and deliveries' })
  @Returns(
    historySchema,
    'Everything the log contains about it. Without the permission "write", personal values and payloads are masked.',
  )
  async show(
    @SiteParam() site: Site,
    @Param('id', { schema: conversionIdSchema }) id: string,
    @Caller() caller: Principal,
  ) {
    const scope = scopeOf(caller, site);
    const own = await readConversion(this.dependencies.log, scope, id);
    if (!own) throw new NotFoundException(`${scope.host} has no conversion ${id}.`);
    return conversionView(await conversionHistory(this.dependencies, own), seesPersonalData(caller));
  }
}

function conversionOf({ opening, deliveries }: FoundConversion) {
  const { position, time, data } = opening;
  return { position, ...data, status: statusOf(opening), time, deliveries };
}
