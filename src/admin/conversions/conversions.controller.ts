import { Controller, Get, NotFoundException, Param, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import type { StoredOpening } from '../../conversions/conversion.js';
import { findOrder } from '../../conversions/find-order.js';
import type { ConversionEvent } from '../../events/conversion.events.js';
import { conversionHistory, readConversion, statusOf } from '../../history/conversion-history.js';
import { conversionView } from '../../history/conversion-view.js';
import { readLagging } from '../../log/read-lagging.js';
import { type Site, scopeStart } from '../../sites/site.js';
import { type Principal, seesPersonalData } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { laggingPageOf, pageOfEvents } from '../events/event-pages.js';
import { Returns } from '../returns.decorator.js';
import { SiteParam, scopeOf } from '../sites/site.param.js';
import {
  conversionIdSchema,
  conversionSchema,
  conversionsQuery,
  historySchema,
  STATUSES,
} from './conversions.schemas.js';

/** More conversions with one order id are not listed: a sender can repeat it any number of times. */
const ORDER_MAX = 500;

const typeOf = (status: (typeof STATUSES)[number]): ConversionEvent['type'] => `conversion.${status}.v1`;

@ApiTags('Conversions')
@Controller('sites/:site/conversions')
export class ConversionsController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'The conversions of a site, newest first, or those with an order id' })
  @Returns(laggingPageOf(conversionSchema), 'One page.')
  async list(
    @SiteParam() site: Site,
    @Query({ schema: conversionsQuery }) { order, status, cursor, limit }: z.output<typeof conversionsQuery>,
    @Caller() caller: Principal,
  ) {
    const scope = scopeOf(caller, site);
    const { host } = scope;
    const after = scopeStart(scope);
    const types = (status === undefined ? STATUSES : [status]).map(typeOf);
    const { postgres, secrets } = this.dependencies;
    if (order === undefined)
      return readLagging(
        postgres,
        (log) =>
          pageOfEvents(log, { site: host, after, types, cursor, limit }, (event) =>
            conversionOf(event as StoredOpening),
          ),
        cursor,
      );
    const newest = { types, limit: ORDER_MAX, newest: true };
    const secret = await secrets.dedupSecret(host);
    return readLagging(postgres, async (log) => {
      const openings = await findOrder(log, scope, secret, order, newest);
      return { items: openings.reverse().map(conversionOf) };
    });
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

function conversionOf(opening: StoredOpening) {
  const { position, time, data } = opening;
  return { position, ...data, status: statusOf(opening), time };
}
