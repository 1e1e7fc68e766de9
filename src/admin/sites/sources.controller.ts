import { Body, Controller, Delete, Get, NotFoundException, Param, Post, Put } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { listSources } from '../../conversions/sources/list-sources.js';
import { withDeliveries } from '../../conversions/sources/open-deliveries.js';
import { fixtureDelivery, tryFixture, tryStored } from '../../conversions/sources/try-delivery.js';
import { keyExpiry, OVERLAP_DEFAULT } from '../../sites/keys/key-rotation.js';
import type { Site } from '../../sites/site.js';
import type { SiteSource } from '../../sites/sources/site-source.js';
import {
  ChangeSourceMapping,
  ConnectSource,
  DisconnectSource,
  RotateSource,
} from '../../sites/sources/source.commands.js';
import { requireSource, requireValid } from '../../sites/sources/source.handlers.js';
import { sourceDocument } from '../../sites/sources/source-document.js';
import { readFixture, renumbered } from '../../sources/fixtures.js';
import { SOURCE_NAMES } from '../../sources/sources.js';
import type { Principal } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { listOf, time } from '../schemas.js';
import { SiteParam } from './site.param.js';

const source = z.enum(SOURCE_NAMES as [string, ...string[]]);
const SourceParam = () => Param('source', { schema: source });
const mapping = z
  .record(z.string().max(200), z.record(z.string().max(100), z.string().max(500)))
  .meta({ description: 'Rules by topic and field. An empty text removes one.' });

const connectionSchema = z
  .object({
    id: z.uuid(),
    source,
    url: z.string().meta({ description: 'The address to give to the sender.' }),
    state: z.enum(['active', 'no_secret']),
    secret: z.string().optional().meta({ description: 'Only if it was just generated. It cannot be shown again.' }),
    previousUntil: time.optional().meta({ description: 'Until then the secret before is accepted, too.' }),
    mapping,
    createdAt: time,
  })
  .meta({ id: 'SourceConnection' });

const sourceSchema = z
  .object({
    source,
    label: z.string(),
    secretFrom: z.enum(['generated', 'given']).meta({ description: 'given: the sender makes the secret.' }),
    fixtures: z.array(z.string()).meta({ description: 'Documented deliveries.' }),
    rules: mapping.meta({ description: 'Those of the source, with the changes of the site.' }),
    connection: connectionSchema.optional(),
    deliveries: z
      .array(
        z.object({
          position: z.string().meta({ description: 'Names it, to try rules with it.' }),
          time,
          topic: z.string(),
          outcome: z.enum(['received', 'corrected', 'deduplicated', 'filtered', 'ignored', 'trial']),
          reason: z.string().optional(),
          conversionId: z.uuid().optional(),
        }),
      )
      .meta({ description: 'The newest, newest first.' }),
    refused: z.array(z.object({ reason: z.string(), count: z.int(), last: time })).meta({
      description: 'Deliveries of which nothing was stored, counted once a minute.',
    }),
  })
  .meta({ id: 'InboundSource' });

const secretSchema = z.object({ secret: z.string().min(8).max(512).optional() }).strict();
const rotationSchema = secretSchema.extend({ overlap: z.string().max(20).default(OVERLAP_DEFAULT) }).strict();
const mappingSchema = z.object({ mapping }).strict();
const fixture = z.string().max(100);
const triedRulesSchema = z
  .object({
    fixture: fixture.optional(),
    delivery: z
      .string()
      .regex(/^\d{1,15}$/)
      .optional()
      .meta({ description: 'Position of a delivery, in place of a fixture: what was stored of it is read.' }),
    mapping: mapping.default({}),
  })
  .strict();
const fixtureSchema = z.object({ fixture }).strict();
const trialSchema = z
  .object({
    outcome: z.enum(['received', 'corrected', 'deduplicated', 'filtered', 'ignored', 'repeated', 'unknown_topic']),
    reason: z.string().optional(),
    conversionId: z.uuid().optional().meta({ description: 'A trial conversion: it is checked and not sent.' }),
  })
  .meta({ id: 'SourceTrial' });
const triedSchema = z
  .object({
    topic: z.string(),
    outcome: z.enum(['converted', 'ignored', 'unknown_topic', 'erased']),
    reason: z.string().optional(),
    conversion: z.record(z.string(), z.unknown()).optional().meta({ description: 'Without what is hashed.' }),
    values: z.record(z.string(), z.unknown()).optional().meta({
      description: 'What was stored of a delivery, by pointer: without what is about the person and the visit.',
    }),
    shape: z.unknown().optional().meta({ description: 'Names and kinds of values of the delivery.' }),
  })
  .meta({ id: 'TriedDelivery' });

@ApiTags('Sources')
@Controller('sites/:site/inbound-sources')
export class SourcesController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'List the sources, with their connections to the site and the newest deliveries' })
  @Returns(listOf(sourceSchema), 'All sources, also those that are not connected.')
  async list(@SiteParam() site: Site) {
    return { items: await listSources(this.dependencies, site) };
  }

  @Put(':source')
  @Requires('write')
  @ApiOperation({ summary: 'Connect a source, or set the secret of a connected one' })
  @Returns(connectionSchema, 'The connection. A generated secret is shown this once.')
  async connect(
    @SiteParam() site: Site,
    @SourceParam() name: string,
    @Body({ schema: secretSchema }) { secret }: z.output<typeof secretSchema>,
    @Caller() { actor }: Principal,
  ) {
    const command = new ConnectSource(actor, site.host, name, secret);
    const { connection, generatedSecret } = await this.dependencies.commands.execute(command);
    return sourceDocument(site, connection, generatedSecret);
  }

  @Post(':source/rotate')
  @Requires('write')
  @ApiOperation({ summary: 'Replace the secret of a source: both are accepted until the overlap ends' })
  @Returns(connectionSchema, 'The connection. A generated secret is shown this once.')
  async rotate(
    @SiteParam() site: Site,
    @SourceParam() name: string,
    @Body({ schema: rotationSchema }) { secret, overlap }: z.output<typeof rotationSchema>,
    @Caller() { actor }: Principal,
  ) {
    requireConnected(site, name);
    const until = keyExpiry(this.dependencies.postgres.clock, overlap);
    const command = new RotateSource(actor, site.host, name, secret, until);
    const { connection, generatedSecret } = await this.dependencies.commands.execute(command);
    return sourceDocument(site, connection, generatedSecret);
  }

  @Put(':source/mapping')
  @Requires('write')
  @ApiOperation({ summary: 'Replace the changes of the rules of a source' })
  @Returns(connectionSchema, 'The connection.')
  async setMapping(
    @SiteParam() site: Site,
    @SourceParam() name: string,
    @Body({ schema: mappingSchema }) body: z.output<typeof mappingSchema>,
    @Caller() { actor }: Principal,
  ) {
    requireConnected(site, name);
    const command = new ChangeSourceMapping(actor, site.host, name, body.mapping, true);
    const { connection } = await this.dependencies.commands.execute(command);
    return sourceDocument(site, connection);
  }

  @Post(':source/try')
  @Requires('write')
  @ApiOperation({
    summary:
      'Show what a documented delivery, or one of the newest, would become, also by rules that are not stored; nothing is stored or sent',
  })
  @Returns(triedSchema, 'What it would become.')
  async try(
    @SiteParam() site: Site,
    @SourceParam() name: string,
    @Body({ schema: triedRulesSchema }) body: z.output<typeof triedRulesSchema>,
  ) {
    const of = requireSource(name);
    const { mapping: changes, fixture, delivery } = body;
    requireValid(of, changes);
    const { postgres, log } = this.dependencies;
    const rules = { site, source: of, changes, clock: postgres.clock };
    const tried =
      delivery === undefined ? tryFixture(rules, fixture ?? '') : await tryStored(rules, log, Number(delivery));
    if (!tried) throw new NotFoundException(`${name} has no such delivery.`);
    return tried;
  }

  @Post(':source/trial')
  @Requires('write')
  @ApiOperation({
    summary:
      'Store a documented delivery as a trial conversion, with an order of its own: it is checked for all platforms and not sent',
  })
  @Returns(trialSchema, 'What became of it.')
  async trial(
    @SiteParam() site: Site,
    @SourceParam() name: string,
    @Body({ schema: fixtureSchema }) body: z.output<typeof fixtureSchema>,
  ) {
    const { keyId } = requireConnected(site, name);
    const fixture = readFixture(name, body.fixture);
    if (!fixture) throw new NotFoundException(`${name} has no such delivery.`);
    const { clock } = this.dependencies.postgres;
    return withDeliveries(
      this.dependencies,
      { host: site.host, keyId },
      async ({ deliveries, site: loaded, source }) => {
        const text = renumbered(fixture, Math.floor(clock.nowMs()));
        const delivery = fixtureDelivery(loaded, source, fixture, text, clock);
        return delivery
          ? deliveries.store(loaded, source, delivery, undefined, true)
          : { outcome: 'unknown_topic' as const };
      },
    );
  }

  @Delete(':source')
  @Requires('write')
  @ApiOperation({ summary: 'Disconnect a source: its deliveries are refused at once' })
  @Returns(connectionSchema, 'The connection as it was.')
  async disconnect(@SiteParam() site: Site, @SourceParam() name: string, @Caller() { actor }: Principal) {
    requireConnected(site, name);
    const { connection } = await this.dependencies.commands.execute(new DisconnectSource(actor, site.host, name));
    return sourceDocument(site, connection);
  }
}

function requireConnected({ host, sources }: Site, name: string): SiteSource {
  const connection = sources.find((each) => each.source === name);
  if (!connection) throw new NotFoundException(`${name} is not connected to ${host}.`);
  return connection;
}
