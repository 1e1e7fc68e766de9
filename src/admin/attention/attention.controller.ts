import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { serviceAttention, sitesAttention } from '../../app/attention/attention.js';
import { healthOf, worstFirst } from '../../app/attention/attention-item.js';
import { readRules } from '../../app/attention/rules.js';
import { tokenItems } from '../../app/attention/service-items.js';
import type { Site } from '../../sites/site.js';
import { operatesAll, type Principal, seesSite } from '../../users/access.js';
import { TokensService } from '../../users/tokens.service.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { SiteParam } from '../sites/site.param.js';
import { attentionSchema } from './attention.schema.js';

@ApiTags('Statistics')
@Controller()
export class AttentionController {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly tokens: TokensService,
  ) {}

  @Get('attention')
  @Requires('read')
  @ApiOperation({ summary: 'What needs attention: at the sites that you may see, your tokens, and the service' })
  @Returns(attentionSchema, 'With the action for each. The service itself only for operators of all sites.')
  async all(@Caller() caller: Principal) {
    const sites = (await this.dependencies.sites.all()).filter((site) => seesSite(caller, site.host));
    const { asOf, items } = await sitesAttention(this.dependencies, sites);
    const { log, postgres } = this.dependencies;
    const tokens = tokenItems(await this.tokens.list(caller.userId), await readRules(log), postgres.clock.nowMs());
    const ofService = operatesAll(caller) ? await serviceAttention(this.dependencies) : [];
    const all = worstFirst([...items, ...ofService, ...tokens]);
    return { asOf, health: healthOf(all), items: all };
  }

  @Get('sites/:site/attention')
  @Requires('read')
  @ApiOperation({ summary: 'What needs attention at a site' })
  @Returns(attentionSchema, 'With the action for each.')
  async ofSite(@SiteParam() site: Site) {
    const { asOf, items } = await sitesAttention(this.dependencies, [site]);
    return { asOf, health: healthOf(items), items };
  }
}
