import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { findLastVisit } from '../../history/last-visit.js';
import type { Site } from '../../sites/site.js';
import { Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { time } from '../schemas.js';
import { SiteParam } from './site.param.js';

const tagSchema = z
  .object({
    seenAt: time.optional().meta({ description: 'When the tag last reported a visit.' }),
    host: z.string().optional().meta({ description: 'Of the page that it was on, unless the person was erased.' }),
    complete: z.boolean().meta({ description: 'Whether all events were searched: a request takes a second at most.' }),
  })
  .meta({ id: 'TagStatus' });

@ApiTags('Sites')
@Controller('sites/:site/tag')
export class TagController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'Whether the tag was seen on the site: a visit with a click id, a campaign or an email' })
  @Returns(tagSchema, 'The latest visit that the tag reported.')
  async show(@SiteParam() site: Site) {
    const { isComplete, ...visit } = await findLastVisit(this.dependencies.log, site);
    return { ...visit, complete: isComplete };
  }
}
