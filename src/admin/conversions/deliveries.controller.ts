import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Headers,
  Post,
  UnprocessableEntityException,
} from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { readWaiting } from '../../delivery/read-waiting.js';
import { REPLAY_STATUSES, type ReplayStatus } from '../../delivery/replay-deliveries.command.js';
import { formatRetryCursor, parseRetryCursor, RETRY_CURSOR_PATTERN } from '../../history/retry-cursor.js';
import { RETRIED_OUTCOMES, type RetriedOutcome, retryDeliveries } from '../../history/retry-deliveries.js';
import type { Site } from '../../sites/site.js';
import { readSnapshot } from '../../statistics/snapshot.js';
import type { Principal } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { SiteParam } from '../sites/site.param.js';
import { asOfSchema } from '../statistics.schema.js';
import { attemptFields } from './attempts.schemas.js';

const OUTCOMES = Object.keys(RETRIED_OUTCOMES) as RetriedOutcome[];
const DEFAULT_STATUSES: readonly ReplayStatus[] = ['failed', 'skipped'];

const retrySchema = z
  .object({
    ...attemptFields,
    status: z
      .array(z.enum(REPLAY_STATUSES).exclude(['not_connected']))
      .min(1)
      .optional()
      .meta({
        description:
          'Only deliveries that have this status now. Default: the one that "outcome" leads to, and without it failed and skipped.',
      }),
    outcome: z.enum(OUTCOMES).optional().meta({
      description: 'Only deliveries with an attempt that ended so. Default: any that leads to one of the statuses.',
    }),
    force: z.boolean().default(false).meta({
      description:
        'Send again although it was accepted, under a new id, so that it counts twice. For one delivery only.',
    }),
    cursor: z
      .string()
      .regex(new RegExp(RETRY_CURSOR_PATTERN))
      .optional()
      .meta({ description: '`next` of the answer before.' }),
    limit: z.int().min(1).max(500).default(100).meta({ description: 'Attempts that are looked at.' }),
    dryRun: z.boolean().default(false).meta({ description: 'Only count, and for one delivery show the payload.' }),
  })
  .strict()
  .refine(({ conversion, order, platform, connection }) => conversion ?? order ?? platform ?? connection, {
    message: 'Select deliveries by "conversion", "order", "platform" or "connection".',
  })
  .refine(({ force, conversion, connection }) => !force || (conversion && connection), {
    message: '"force" makes a conversion count twice, so it needs "conversion" and "connection".',
  })
  .refine(({ force, cursor }) => !force || cursor === undefined, {
    message: '"force" is for one delivery: leave out "cursor".',
  })
  .meta({
    anyOf: ['conversion', 'order', 'platform', 'connection'].map((field) => ({ required: [field] })),
    if: { properties: { force: { const: true } }, required: ['force'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { required: ['conversion', 'connection'], not: { required: ['cursor'] } },
  });

const countsSchema = z.object({
  requested: z.int(),
  byStatus: z.record(z.string(), z.int()).meta({ description: 'Deliveries that were looked at, by their status.' }),
});

const retriedSchema = z
  .object({
    dryRun: z.boolean(),
    requested: z.int().meta({ description: 'Deliveries that are sent again, or would be.' }),
    connections: z.record(z.string(), countsSchema),
    deliveries: z
      .array(z.object({ conversionId: z.uuid(), connection: z.string() }))
      .meta({ description: 'Those that are sent again; none in a dry run.' }),
    after: z.int().meta({
      description: 'Position of the log before they were requested. The sync log has their outcomes after it.',
    }),
    next: z.string().optional().meta({ description: 'There may be more: repeat the request with this cursor.' }),
    preview: z
      .object({ status: z.enum(['sent', 'skipped']), reason: z.string().optional(), payload: z.unknown().optional() })
      .optional()
      .meta({ description: 'What would be sent, in a dry run for one delivery.' }),
  })
  .meta({ id: 'RetriedDeliveries' });

const waitingSchema = z
  .object({
    asOf: asOfSchema,
    items: z.array(
      z.object({
        platform: z.string().meta({ description: 'Name of the connection.' }),
        queued: z.int().meta({ description: 'Deliveries that wait for an attempt, up to 10,000.' }),
        unconfirmed: z.int().meta({
          description: 'Deliveries that the platform accepted and has not confirmed yet, up to 10,000.',
        }),
      }),
    ),
  })
  .meta({ id: 'WaitingDeliveries' });

@ApiTags('Deliveries')
@Controller('sites/:site/deliveries')
export class DeliveriesController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get('waiting')
  @Requires('read')
  @ApiOperation({ summary: 'How many deliveries of each connection wait for an attempt or for a confirmation' })
  @Returns(waitingSchema, 'By connection.')
  async waiting(@SiteParam() site: Site) {
    return readSnapshot(this.dependencies.postgres, ['deliveries'], async (client) => {
      const [queued, unconfirmed] = [
        await readWaiting(client, [site], 'send'),
        await readWaiting(client, [site], 'confirm'),
      ];
      const countOf = (rows: typeof queued, name: string) => rows.find(({ platform }) => platform === name)?.count ?? 0;
      const items = site.connections
        .filter(({ disconnected }) => !disconnected)
        .map(({ platform }) => ({
          platform,
          queued: countOf(queued, platform),
          unconfirmed: countOf(unconfirmed, platform),
        }));
      return { items };
    });
  }

  @Post('retry')
  @Requires('write')
  @ApiOperation({ summary: 'Send conversions again whose delivery failed, was skipped or is queued' })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: 'Required with "force", unless it is a dry run.',
  })
  @Returns(retriedSchema, 'What is sent again. A running service sends it now.')
  async retry(
    @SiteParam() site: Site,
    @Body({ schema: retrySchema }) request: z.output<typeof retrySchema>,
    @Headers('idempotency-key') key: string | undefined,
    @Caller() { actor }: Principal,
  ) {
    const { status, outcome, force, dryRun, cursor: text, limit, ...filter } = request;
    if (force && !dryRun && key === undefined)
      throw new BadRequestException(
        'A repeated request with "force" would count the conversion once more: send an Idempotency-Key.',
      );
    if (status && outcome && !status.includes(RETRIED_OUTCOMES[outcome]))
      throw new UnprocessableEntityException(
        `"outcome" and "status" contradict each other: after "${outcome}" a delivery is "${RETRIED_OUTCOMES[outcome]}". Add that status, or leave out one of them.`,
      );
    const cursor = text === undefined ? undefined : parseRetryCursor(text);
    const statuses = status ?? (outcome ? [RETRIED_OUTCOMES[outcome]] : DEFAULT_STATUSES);
    const selected = { ...filter, statuses, outcome, force, dryRun, cursor, limit };
    const { next, ...result } = await retryDeliveries(this.dependencies, site, selected, actor);
    return { dryRun, ...result, ...(next && { next: formatRetryCursor(next) }) };
  }
}
