import {
  Body,
  Controller,
  Delete,
  ForbiddenException,
  Get,
  HttpStatus,
  Inject,
  Patch,
  Post,
  Put,
} from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { dedupWindowOf } from '../../conversions/dedup-key.js';
import type { FilterList, SiteSettings } from '../../events/site.events.js';
import { MASK } from '../../history/mask-values.js';
import { formatDuration } from '../../kernel/durations.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import { readMoves } from '../../moves/departures.js';
import { readElsewhere } from '../../moves/sites-elsewhere.js';
import { Postgres } from '../../postgres/postgres.js';
import { statedArrivals } from '../../sites/holding.js';
import { refuseForeign, refuseTaken } from '../../sites/refuse-taken.js';
import {
  AddSite,
  ChangeAliases,
  ChangeSiteSettings,
  DisableInbound,
  EnableInbound,
  PauseSite,
  RemoveSite,
  ResumeSite,
} from '../../sites/site.commands.js';
import type { Site } from '../../sites/site.js';
import { siteDocument, siteWithCell } from '../../sites/site-document.js';
import { newAliases, parseHost, SiteRepository } from '../../sites/site-repository.js';
import { SiteSecrets } from '../../sites/site-secrets.js';
import { type Principal, seesPersonalData, seesSite } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Returns } from '../returns.decorator.js';
import { host, listOf, newSiteSchema, siteSchema } from '../schemas.js';
import { SiteParam } from './site.param.js';
import { settingsChangeSchema, settingsRequest, siteSettingsSchema } from './site-settings.schema.js';

const aliasesSchema = z
  .object({ add: z.array(host).max(50).default([]), remove: z.array(host).max(50).default([]) })
  .strict();
const siteListSchema = listOf(siteSchema).extend({
  restricted: z.literal(true).optional().describe('Set if you may see only some sites.'),
});
const inboundSchema = z.object({ enabled: z.boolean() }).strict();
const pauseSchema = z.object({ paused: z.boolean() }).strict();

@ApiTags('Sites')
@Controller('sites')
export class SitesController {
  constructor(
    private readonly sites: SiteRepository,
    private readonly commands: CommandBus,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly postgres: Postgres,
    private readonly secrets: SiteSecrets,
  ) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'List sites' })
  @Returns(siteListSchema, 'The sites that you may see.')
  async list(@Caller() caller: Principal) {
    const sites = await this.sites.all();
    const { otherCells } = this.settings;
    const seen = sites.filter((site) => seesSite(caller, site.host));
    const moves = await readMoves(this.postgres.pool);
    const elsewhere = await readElsewhere(this.postgres.pool);
    const arrivals = await statedArrivals(seen, this.settings.cell, this.secrets);
    const items = seen.map((site) => {
      const arrived = arrivals.get(site.host);
      return { ...siteWithCell(site, otherCells, moves, elsewhere), ...(arrived && { arrived }) };
    });
    // Another cell that asks must not take the rest for removed.
    return { items, ...(caller.sites !== 'all' && { restricted: true as const }) };
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
    await refuseTaken(this.sites, this.settings.otherCells, [site.host, ...site.aliases].map(parseHost));
    return siteDocument(await this.commands.execute(new AddSite(actor, site.host, site.aliases)));
  }

  @Get(':site')
  @Requires('read')
  @ApiOperation({ summary: 'Show a site' })
  @Returns(siteSchema, 'The site.')
  async show(@SiteParam() site: Site) {
    const { pool } = this.postgres;
    return siteWithCell(site, this.settings.otherCells, await readMoves(pool), await readElsewhere(pool));
  }

  @Delete(':site')
  @Requires('write')
  @ApiOperation({
    summary:
      'Remove a site: its keys are revoked and its platforms disconnected. Events stay. Added again, the host has another site.',
  })
  @Returns(siteSchema, 'The site as it was removed.')
  async remove(@SiteParam() site: Site, @Caller() { actor }: Principal) {
    return siteDocument(await this.commands.execute(new RemoveSite(actor, site.host)));
  }

  @Put(':site/inbound')
  @Requires('write')
  @ApiOperation({ summary: 'Accept conversions for a site, or refuse them' })
  @Returns(siteSchema, 'The site.')
  async setInbound(
    @SiteParam() site: Site,
    @Body({ schema: inboundSchema }) { enabled }: z.output<typeof inboundSchema>,
    @Caller() { actor }: Principal,
  ) {
    const Change = enabled ? EnableInbound : DisableInbound;
    return siteDocument(await this.commands.execute(new Change(actor, site.host)));
  }

  @Put(':site/pause')
  @Requires('write')
  @ApiOperation({
    summary: 'Pause a site: nothing new is stored for it and nothing is sent. Senders are asked to try later.',
  })
  @Returns(siteSchema, 'The site.')
  async setPaused(
    @SiteParam() site: Site,
    @Body({ schema: pauseSchema }) { paused }: z.output<typeof pauseSchema>,
    @Caller() { actor }: Principal,
  ) {
    const Change = paused ? PauseSite : ResumeSite;
    return siteDocument(await this.commands.execute(new Change(actor, site.host)));
  }

  @Patch(':site/aliases')
  @Requires('write')
  @ApiOperation({
    summary:
      'Add and remove other hosts of a site. Who may not see all sites adds hosts of the domain of the site only.',
  })
  @Returns(siteSchema, 'The site.')
  async changeAliases(
    @SiteParam() site: Site,
    @Body({ schema: aliasesSchema }) request: z.output<typeof aliasesSchema>,
    @Caller() caller: Principal,
  ) {
    const { otherCells } = this.settings;
    const added = newAliases(site, request.add);
    if (caller.sites === 'all') await refuseTaken(this.sites, otherCells, added, site.host);
    else await refuseForeign(this.sites, otherCells, added, site, (host) => seesSite(caller, host));
    return siteDocument(await this.commands.execute(new ChangeAliases(caller.actor, site.host, request)));
  }

  @Get(':site/settings')
  @Requires('read')
  @ApiOperation({ summary: 'Show the settings of a site' })
  @Returns(siteSettingsSchema, 'The settings in effect.')
  showSettings(@SiteParam() site: Site, @Caller() caller: Principal) {
    const settings = this.effective(site);
    return seesPersonalData(caller) ? settings : withoutPeople(settings);
  }

  @Patch(':site/settings')
  @Requires('write')
  @ApiOperation({ summary: 'Change settings of a site: duplicates, bots, consent, lists of blocked addresses' })
  @Returns(siteSettingsSchema, 'The settings after the change.')
  async changeSettings(
    @SiteParam() site: Site,
    @Body({ schema: settingsChangeSchema }) change: z.output<typeof settingsChangeSchema>,
    @Caller() { actor }: Principal,
  ) {
    const command = new ChangeSiteSettings(actor, site.host, settingsRequest(change));
    return this.effective(await this.commands.execute(command));
  }

  private effective({ settings }: Site) {
    return { ...settings, dedupWindow: formatDuration(dedupWindowOf(settings, this.settings.dedupWindowMs)) };
  }
}

/** The hash of an email address tells a reader who has a list of addresses whose it is. Domains are shown. */
function withoutPeople<Settings extends Pick<SiteSettings, FilterList>>(settings: Settings): Settings {
  return {
    ...settings,
    blocked: settings.blocked.map((value) => (value.startsWith('@') ? value : MASK)),
    blockIps: settings.blockIps.map(() => MASK),
    allowIps: settings.allowIps.map(() => MASK),
  };
}
