import { Body, Controller, NotFoundException, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { previewPayload, receivedFor } from '../../delivery/payload/preview-payload.js';
import { sampleReceived } from '../../delivery/payload/sample-conversion.js';
import { readConversion, readOrderedConversion } from '../../history/conversion-history.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { settingsAfter } from '../../sites/connections/named-connection.js';
import type { Site, SiteScope } from '../../sites/site.js';
import { findOptOuts } from '../../visitors/find-opt-outs.js';
import { Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { connectionName } from '../schemas.js';
import { requireConnected, requirePlatform } from './connections.controller.js';
import { ConnectionParam, SiteParam } from './site.param.js';

const previewQuery = z
  .object({
    conversion: z.uuid().optional().meta({ description: 'Id of a stored conversion.' }),
    order: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ description: "The sender's order id of a stored conversion." }),
    sample: z.literal(true).optional().meta({ description: 'A fictitious purchase with all fields.' }),
    settings: z
      .record(z.string().max(200), z.string().max(5_000))
      .default({})
      .meta({ description: 'In place of the stored settings. An empty text removes one.' }),
  })
  .strict()
  .refine(
    ({ conversion, order, sample }) => [conversion, order, sample].filter((one) => one !== undefined).length === 1,
    {
      message: 'Give one of "conversion", "order" and "sample".',
    },
  )
  .meta({ oneOf: [{ required: ['conversion'] }, { required: ['order'] }, { required: ['sample'] }] });

const previewSchema = z
  .object({
    platform: connectionName,
    sample: z.literal(true).optional(),
    conversionId: z.uuid().optional(),
    status: z.enum(['sent', 'skipped']).meta({ description: 'What would happen. Nothing was sent.' }),
    reason: z.string().optional().meta({ description: 'Why it would be skipped.' }),
    payload: z.unknown().optional(),
  })
  .meta({ id: 'Preview' });

@ApiTags('Connections')
@Controller('sites/:site/connections/:connection/preview')
export class PreviewController {
  constructor(private readonly dependencies: Dependencies) {}

  /** A payload has personal values, as in `seesPersonalData`. */
  @Post()
  @Requires('write')
  @ApiOperation({
    summary: 'Show what the platform would get, also with settings that are not stored; nothing is sent',
  })
  @Returns(previewSchema, 'The payload, or why nothing would be sent.')
  async preview(
    @SiteParam() site: Site,
    @ConnectionParam() connection: ConnectionName,
    @Body({ schema: previewQuery }) query: z.output<typeof previewQuery>,
  ) {
    requireConnected(site, connection);
    const target = { name: connection, platform: requirePlatform(site, connection) };
    const settings = settingsAfter(site, target, query.settings);
    if (query.sample) {
      const received = sampleReceived(this.dependencies.postgres.clock.nowMs());
      return { platform: connection, sample: true, ...previewPayload(received, target, settings, site.settings) };
    }
    const received = await this.findReceived(site, connection, query);
    return {
      platform: connection,
      conversionId: received.data.conversionId,
      ...previewPayload(received, target, settings, site.settings),
    };
  }

  private async findReceived(
    site: SiteScope,
    connection: ConnectionName,
    { conversion, order }: z.output<typeof previewQuery>,
  ) {
    const { log, postgres } = this.dependencies;
    const own =
      conversion === undefined
        ? await readOrderedConversion(this.dependencies, site, order as string)
        : await readConversion(log, site, conversion);
    if (!own) throw new NotFoundException(`${site.host} has no such conversion.`);
    return receivedFor(log, findOptOuts(postgres), own, connection);
  }
}
