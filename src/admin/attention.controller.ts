import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { serviceAttention, sitesAttention } from '../operations/attention.js';
import { ATTENTION_KINDS, tokenItems } from '../operations/attention-items.js';
import type { Site } from '../sites/site.js';
import { operatesAll, type Principal, seesSite } from '../users/access.js';
import { TokensService } from '../users/tokens.service.js';
import { Caller, Requires } from './access/access.decorators.js';
import { Dependencies } from './dependencies.js';
import { Returns } from './returns.decorator.js';
import { host, time } from './schemas.js';
import { SiteParam } from './sites/site.param.js';
import { asOfSchema } from './statistics.schema.js';

const itemSchema = z
  .object({
    kind: z.enum(ATTENTION_KINDS),
    severity: z.enum(['error', 'warning']).meta({
      description: 'error: something is not sent, or not up to date, until a person acts.',
    }),
    site: host.optional(),
    platform: z.string().optional().meta({ description: 'Name of the connection.' }),
    subject: z.string().optional().meta({ description: 'Id of the key or token, or name of the projection.' }),
    time: time.optional().meta({ description: 'Since when, or when it expires.' }),
    count: z.int().optional().meta({
      description: 'Deliveries that wait (up to 10,000) or failed, failed pushes, or events that are not folded.',
    }),
    detail: z.string(),
    action: z
      .object({
        label: z.string(),
        method: z.enum(['GET', 'POST', 'PUT']),
        route: z.string(),
        body: z.record(z.string(), z.boolean()).optional().meta({
          description:
            'Of the request. Without it there is none, or it has to be chosen, such as the settings of a connection.',
        }),
      })
      .meta({ description: 'The request that leads to the fix. The route is below /api/v1.' }),
  })
  .meta({ id: 'AttentionItem' });

const attentionSchema = z.object({ asOf: asOfSchema, items: z.array(itemSchema) }).meta({ id: 'Attention' });

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
    const tokens = tokenItems(await this.tokens.list(caller.userId), this.dependencies.postgres.clock.nowMs());
    const ofService = operatesAll(caller) ? await serviceAttention(this.dependencies) : [];
    return { asOf, items: [...items, ...ofService, ...tokens] };
  }

  @Get('sites/:site/attention')
  @Requires('read')
  @ApiOperation({ summary: 'What needs attention at a site' })
  @Returns(attentionSchema, 'With the action for each.')
  ofSite(@SiteParam() site: Site) {
    return sitesAttention(this.dependencies, [site]);
  }
}
