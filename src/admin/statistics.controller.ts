import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { UNKNOWN_FIELDS } from '../conversions/inbound/inbound-fields.js';
import type { Site } from '../sites/site.js';
import { readMatchQuality } from '../statistics/match-quality.js';
import { readReceivedEvents } from '../statistics/received-events.js';
import { readSeries } from '../statistics/series.js';
import { readSources } from '../statistics/sources.js';
import { readTotals } from '../statistics/totals.js';
import { readUnusedFields, type UnusedField } from '../statistics/unused-fields.js';
import { type Principal, seesSite } from '../users/access.js';
import { Caller, Requires } from './access/access.decorators.js';
import { Dependencies } from './dependencies.js';
import { Returns } from './returns.decorator.js';
import { SiteParam } from './sites/site.param.js';
import {
  allTotalsSchema,
  matchQualitySchema,
  periodQuery,
  receivedEventsSchema,
  seriesQuery,
  seriesSchema,
  siteTotalsSchema,
  sourcesQuery,
  sourcesSchema,
  toPeriod,
  unusedFieldsSchema,
} from './statistics.schema.js';

@ApiTags('Statistics')
@Controller()
export class StatisticsController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get('totals')
  @Requires('read')
  @ApiOperation({ summary: 'Totals of each site that you may see, in a period' })
  @Returns(allTotalsSchema, 'The totals by site.')
  async totals(@Query({ schema: periodQuery }) query: z.output<typeof periodQuery>, @Caller() caller: Principal) {
    return readTotals(this.dependencies.postgres, await this.visible(caller), this.period(query));
  }

  @Get('sites/:site/totals')
  @Requires('read')
  @ApiOperation({ summary: 'Totals of a site in a period' })
  @Returns(siteTotalsSchema, 'The totals.')
  async siteTotals(@SiteParam() site: Site, @Query({ schema: periodQuery }) query: z.output<typeof periodQuery>) {
    const { items, ...report } = await readTotals(this.dependencies.postgres, [site.host], this.period(query));
    return { ...report, ...items[0] };
  }

  @Get('series')
  @Requires('read')
  @ApiOperation({ summary: 'The numbers of all sites that you may see together, by the hour or day' })
  @Returns(seriesSchema, 'The series, and what happened to connections in the period.')
  async series(@Query({ schema: seriesQuery }) query: z.output<typeof seriesQuery>, @Caller() caller: Principal) {
    return this.readSeries(await this.visible(caller), query);
  }

  @Get('sites/:site/series')
  @Requires('read')
  @ApiOperation({ summary: 'The numbers of a site by the hour or day' })
  @Returns(seriesSchema, 'The series, and what happened to connections in the period.')
  async siteSeries(@SiteParam() site: Site, @Query({ schema: seriesQuery }) query: z.output<typeof seriesQuery>) {
    return this.readSeries([site.host], query);
  }

  @Get('sources')
  @Requires('read')
  @ApiOperation({ summary: 'Where the conversions of all sites that you may see came from' })
  @Returns(sourcesSchema, 'The largest sources, campaigns or kinds of click ids.')
  async sources(@Query({ schema: sourcesQuery }) query: z.output<typeof sourcesQuery>, @Caller() caller: Principal) {
    return this.readSources(await this.visible(caller), query);
  }

  @Get('sites/:site/sources')
  @Requires('read')
  @ApiOperation({ summary: 'Where the conversions of a site came from' })
  @Returns(sourcesSchema, 'The largest sources, campaigns or kinds of click ids.')
  async siteSources(@SiteParam() site: Site, @Query({ schema: sourcesQuery }) query: z.output<typeof sourcesQuery>) {
    return this.readSources([site.host], query);
  }

  @Get('sites/:site/match-quality')
  @Requires('read')
  @ApiOperation({ summary: 'Which identifiers the conversions of a site carried for each connection' })
  @Returns(matchQualitySchema, 'By connection. Conversions of erased people are not included.')
  async matchQuality(@SiteParam() site: Site, @Query({ schema: periodQuery }) query: z.output<typeof periodQuery>) {
    return readMatchQuality(this.dependencies.postgres, site, this.period(query));
  }

  @Get('sites/:site/unused-fields')
  @Requires('read')
  @ApiOperation({ summary: 'Which fields of the conversions of a site were sent and not used' })
  @Returns(unusedFieldsSchema, 'The most frequent first. Without conversions of trial keys.')
  async unusedFields(@SiteParam() site: Site, @Query({ schema: periodQuery }) query: z.output<typeof periodQuery>) {
    const { items, ...report } = await readUnusedFields(this.dependencies.postgres, site.host, this.period(query));
    return { ...report, items: items.map((item) => ({ ...item, ...rightName(item) })) };
  }

  @Get('sites/:site/received-events')
  @Requires('read')
  @ApiOperation({ summary: 'The events of the conversions of a site, and where they go' })
  @Returns(receivedEventsSchema, 'The 200 most frequent ones. Without trial conversions and corrections.')
  async receivedEvents(@SiteParam() site: Site, @Query({ schema: periodQuery }) query: z.output<typeof periodQuery>) {
    return readReceivedEvents(this.dependencies.postgres, site, this.period(query));
  }

  private readSources(sites: readonly string[], query: z.output<typeof sourcesQuery>) {
    const { by, limit } = query;
    return readSources(this.dependencies.postgres, { sites, period: this.period(query), by, limit });
  }

  private readSeries(sites: readonly string[], query: z.output<typeof seriesQuery>) {
    const { interval, timeZone } = query;
    return readSeries(this.dependencies, { sites, period: this.period(query), interval, timeZone });
  }

  private async visible(caller: Principal): Promise<string[]> {
    const sites = await this.dependencies.sites.all();
    return sites.map((site) => site.host).filter((site) => seesSite(caller, site));
  }

  private period(query: z.output<typeof periodQuery>) {
    return toPeriod(query, this.dependencies.postgres.clock.nowMs());
  }
}

function rightName({ field, unknown }: UnusedField): { readonly use?: string } {
  const use = unknown > 0 ? UNKNOWN_FIELDS.rightNameOf(field) : undefined;
  return use === undefined ? {} : { use };
}
