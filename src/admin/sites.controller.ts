import {
  Body,
  Controller,
  Delete,
  ForbiddenException,
  Get,
  HttpStatus,
  NotFoundException,
  Param,
  Post,
  Put,
} from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { AddSite, DisableInbound, EnableInbound, RemoveSite } from '../sites/site.commands.js';
import { siteDocument } from '../sites/site-document.js';
import { SiteRepository } from '../sites/site-repository.js';
import { type Principal, seesSite } from '../users/access.js';
import { Caller, Requires } from './access.decorators.js';
import { Returns } from './returns.decorator.js';
import { host, listOf, newSiteSchema, siteSchema } from './schemas.js';

const inboundSchema = z.object({ enabled: z.boolean() }).strict();

@ApiTags('Sites')
@Controller('sites')
export class SitesController {
  constructor(
    private readonly sites: SiteRepository,
    private readonly commands: CommandBus,
  ) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'List sites' })
  @Returns(listOf(siteSchema), 'The sites that you may see.')
  async list(@Caller() caller: Principal) {
    const sites = await this.sites.all();
    return { items: sites.filter((site) => seesSite(caller, site.host)).map(siteDocument) };
  }

  @Post()
  @Requires('write')
  @ApiOperation({ summary: 'Add a site' })
  @Returns(siteSchema, 'The site. It accepts no conversions until inbound is enabled.', HttpStatus.CREATED)
  async add(
    @Body({ schema: newSiteSchema }) site: z.output<typeof newSiteSchema>,
    @Caller() { actor, sites }: Principal,
  ) {
    if (sites !== 'all') throw new ForbiddenException('Only a caller with access to all sites can add one.');
    return siteDocument(await this.commands.execute(new AddSite(actor, site.host, site.aliases)));
  }

  @Get(':site')
  @Requires('read')
  @ApiOperation({ summary: 'Show a site' })
  @Returns(siteSchema, 'The site.')
  async show(@Param('site', { schema: host }) name: string) {
    return siteDocument(await findSite(this.sites, name));
  }

  @Delete(':site')
  @Requires('write')
  @ApiOperation({ summary: 'Remove a site: its keys are revoked and its platforms disconnected. Events stay.' })
  @Returns(siteSchema, 'The site as it was removed.')
  async remove(@Param('site', { schema: host }) name: string, @Caller() { actor }: Principal) {
    const site = await findSite(this.sites, name);
    return siteDocument(await this.commands.execute(new RemoveSite(actor, site.host)));
  }

  @Put(':site/inbound')
  @Requires('write')
  @ApiOperation({ summary: 'Accept conversions for a site, or refuse them' })
  @Returns(siteSchema, 'The site.')
  async setInbound(
    @Param('site', { schema: host }) name: string,
    @Body({ schema: inboundSchema }) { enabled }: z.output<typeof inboundSchema>,
    @Caller() { actor }: Principal,
  ) {
    const site = await findSite(this.sites, name);
    const Change = enabled ? EnableInbound : DisableInbound;
    return siteDocument(await this.commands.execute(new Change(actor, site.host)));
  }
}

/** By its host, not by an alias: access is given by host. */
export async function findSite(sites: SiteRepository, name: string) {
  const site = (await sites.all()).find((candidate) => candidate.host === name);
  if (!site) throw new NotFoundException(`There is no site ${name}.`);
  return site;
}
