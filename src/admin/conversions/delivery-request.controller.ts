import { Controller, Get, NotFoundException, Param } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { foldDeliveries } from '../../delivery/delivery.js';
import { sentPayload } from '../../delivery/delivery-history.js';
import { settingsAsOf } from '../../delivery/payload/payload.js';
import { receivedFor } from '../../delivery/payload/preview-payload.js';
import { redactedDelivery } from '../../delivery/payload/redacted-delivery.js';
import { ageOf } from '../../delivery/received-conversion.js';
import { limitsOf, refusalNow } from '../../delivery/refusal.js';
import { sendableUntilMs } from '../../delivery/retry-schedule.js';
import { readConversion } from '../../history/conversion-history.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { platformOfConnection } from '../../platforms/index.js';
import type { Platform } from '../../platforms/platform.js';
import type { Site } from '../../sites/site.js';
import { findOptOuts } from '../../visitors/find-opt-outs.js';
import { Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { connectionName } from '../schemas.js';
import { ConnectionParam, SiteParam } from '../sites/site.param.js';
import { conversionIdSchema } from './conversions.schemas.js';

const requestSchema = z.object({
  method: z.enum(['POST', 'GET']),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  basic: z
    .string()
    .optional()
    .meta({ description: 'User and password, which are sent base64-encoded in the header `authorization`.' }),
  body: z.string().optional(),
  curl: z.string().meta({
    description:
      'The request for a shell, in which only the placeholders are variables. Values in the URL are encoded.',
  }),
});

const deliveryRequestSchema = z
  .object({
    platform: connectionName,
    conversionId: z.uuid(),
    exact: z.boolean().meta({ description: 'The payload has the digest of the one that was sent.' }),
    refused: z
      .enum(['consent_denied', 'too_old'])
      .optional()
      .meta({ description: 'Why the service itself would not send it now.' }),
    requests: z.array(requestSchema).meta({ description: 'Several where the platform takes one item at a time.' }),
    placeholders: z
      .array(z.object({ name: z.string(), description: z.string() }))
      .meta({ description: 'What stands as `$NAME` in the request in place of secrets.' }),
  })
  .meta({ id: 'DeliveryRequest' });

@ApiTags('Conversions')
@Controller('sites/:site/conversions/:id/deliveries/:connection/request')
export class DeliveryRequestController {
  constructor(private readonly dependencies: Dependencies) {}

  /** A payload has personal values, as in `seesPersonalData`. */
  @Get()
  @Requires('write')
  @ApiOperation({ summary: 'The request of a delivery to its platform, with placeholders in place of secrets' })
  @Returns(deliveryRequestSchema, 'As the service would send its newest payload now, alone. Nothing is sent.')
  async show(
    @SiteParam() site: Site,
    @Param('id', { schema: conversionIdSchema }) id: string,
    @ConnectionParam() connection: ConnectionName,
  ) {
    const { log, secrets, settings, postgres } = this.dependencies;
    const events = await readConversion(log, site, id);
    const delivery = events && foldDeliveries(events).find(({ platform }) => platform === connection);
    if (!delivery) throw new NotFoundException(`${site.host} has no delivery of conversion ${id} to ${connection}.`);
    const stored = site.connections.find(({ platform, disconnected }) => platform === connection && !disconnected);
    if (!stored)
      throw new NotFoundException(`${connection} is not connected to ${site.host}. Connect it to see its requests.`);
    const platform = platformOfConnection(stored) as Platform;
    const received = await receivedFor(log, findOptOuts(postgres), events, connection);
    if (received.data.trial)
      throw new NotFoundException(
        `Conversion ${id} is a trial, which is checked but not sent. Look at its payload, or send one with a key that is no trial key.`,
      );
    const sent = sentPayload(received, delivery, stored, platform);
    const payload = sentPayload(received, delivery, stored, platform, site.settings.withhold) ?? sent;
    if (!payload)
      throw new NotFoundException(`Nothing was sent to ${connection} yet. The delivery's reason tells why.`);
    const nowMs = postgres.clock.nowMs();
    const { unknownSince } = delivery;
    const unknownSinceMs = unknownSince === undefined ? undefined : Date.parse(unknownSince);
    const asOf = settingsAsOf(stored, delivery.asOf ?? received.data);
    const rules = { scheduleMs: settings.deliveryRetryScheduleMs, giveUpMs: settings.deliveryGiveUpMs };
    const refused = refusalNow(received, site.settings, nowMs, {
      sendableUntilMs: () =>
        sendableUntilMs({ ...ageOf(received), unknownSinceMs }, limitsOf(received, connection, platform, asOf), rules),
      takesAnonymous: () => platform.takesAnonymous?.(asOf) === true,
    });
    return {
      platform: connection,
      conversionId: received.data.conversionId,
      exact: payload.bodySha256 === delivery.bodySha256,
      ...(refused && { refused }),
      ...redactedDelivery({
        platform,
        payload,
        connection: stored,
        secrets: await secrets.connectionSecrets(site.host, connection),
        nowMs,
        traceparent: payload.isAnonymous ? undefined : received.personal?.traceparent,
      }),
    };
  }
}
