import { Body, Controller, Delete, Get, HttpStatus, NotFoundException, Param, Patch, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { CHANNEL_KINDS } from '../../app/alerts/channel.js';
import {
  addChannel,
  pauseChannel,
  readChannels,
  removeChannel,
  type ShownChannel,
  shownChannels,
} from '../../app/alerts/channels.js';
import { testChannel } from '../../app/alerts/operate-channels.js';
import { ATTENTION_KINDS, SEVERITIES } from '../../app/attention/attention-item.js';
import { changeRules, RULE_LIMITS, readRules } from '../../app/attention/rules.js';
import type { Principal } from '../../users/access.js';
import { Caller, RequiresUser } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns, ReturnsNothing } from '../returns.decorator.js';
import { host, listOf, time } from '../schemas.js';

const id = z.uuid();
const kinds = z
  .array(z.enum(ATTENTION_KINDS))
  .min(1)
  .nullable()
  .meta({ description: 'Null: all but what a person did.' });
const sites = z
  .array(host)
  .min(1)
  .max(1_000)
  .nullable()
  .meta({ description: 'Null: all sites, and the service itself.' });
const severity = z.enum(SEVERITIES).meta({ description: 'The least severe that it is told of.' });

const channelSchema = z
  .object({
    id,
    kind: z.enum(CHANNEL_KINDS),
    name: z.string().optional(),
    to: z.string().optional().meta({
      description:
        'The email address, or the URL with what may be secret redacted. Absent if SECRET_KEY does not open it.',
    }),
    ...{ sites, kinds, severity },
    paused: z.boolean(),
    createdAt: time,
    secret: z
      .string()
      .optional()
      .meta({ description: 'Signs the requests of a webhook. Only in the answer that adds it.' }),
  })
  .meta({ id: 'AlertChannel' });

const newChannelSchema = z
  .object({
    kind: z.enum(CHANNEL_KINDS),
    to: z.string().min(1).max(2_048).meta({ description: 'The email address, or the URL.' }),
    name: z.string().min(1).max(100).optional(),
    sites: sites.optional(),
    kinds: kinds.optional(),
    severity: severity.optional(),
  })
  .strict();
const pausedSchema = z.object({ paused: z.boolean() }).strict();

const testSchema = z.object({ id, ok: z.boolean(), reason: z.string().optional() }).meta({ id: 'AlertChannelTest' });

const rule = (name: keyof typeof RULE_LIMITS, description: string) =>
  z.int().min(RULE_LIMITS[name].min).max(RULE_LIMITS[name].max).meta({ description });
const rulesSchema = z
  .object({
    refusedPercent: rule('refusedPercent', "Share of a connection's conversions of a day that may be refused."),
    silentGaps: rule('silentGaps', 'How many times the usual gap between conversions a site may be silent.'),
    matchRateDropPercent: rule('matchRateDropPercent', 'How much less than usual may be matched, of the usual share.'),
    connectionExpiryDays: rule('connectionExpiryDays', 'Before the end of the access token of a platform.'),
    tokenExpiryDays: rule('tokenExpiryDays', 'Before the end of an API token.'),
  })
  .meta({ id: 'AlertRules' });
const ruleChangesSchema = rulesSchema.partial().strict();

@ApiTags('Alerts')
@Controller('alerts')
@RequiresUser('administer')
export class AlertsController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get('channels')
  @ApiOperation({ summary: 'List the channels that alerts are sent to' })
  @Returns(listOf(channelSchema), 'All channels.')
  async list() {
    return { items: await shownChannels(this.dependencies) };
  }

  @Post('channels')
  @ApiOperation({ summary: 'Send alerts by email, to Slack or to a webhook' })
  @Returns(channelSchema, 'The channel. The secret of a webhook is shown only here.', HttpStatus.CREATED)
  async add(
    @Body({ schema: newChannelSchema }) { name, sites, kinds, severity, ...channel }: z.output<typeof newChannelSchema>,
    @Caller() { actor }: Principal,
  ) {
    const added = await addChannel(this.dependencies, actor, {
      ...{ ...channel, name, sites: sites ?? null, kinds: kinds ?? null },
      ...(severity && { severity }),
    });
    return { ...added.channel, secret: added.secret };
  }

  @Patch('channels/:id')
  @ApiOperation({ summary: 'Pause or resume a channel; a resumed one is told of what has not ended' })
  @Returns(channelSchema, 'The channel.')
  async pause(
    @Param('id', { schema: id }) channelId: string,
    @Body({ schema: pausedSchema }) { paused }: z.output<typeof pausedSchema>,
    @Caller() { actor }: Principal,
  ): Promise<ShownChannel> {
    await this.requireChannel(channelId);
    return pauseChannel(this.dependencies, actor, channelId, paused);
  }

  @Delete('channels/:id')
  @ApiOperation({ summary: 'Remove a channel, with what waits to be sent to it' })
  @ReturnsNothing('It is removed.')
  async remove(@Param('id', { schema: id }) channelId: string, @Caller() { actor }: Principal): Promise<void> {
    await this.requireChannel(channelId);
    await removeChannel(this.dependencies, actor, channelId);
  }

  @Post('channels/:id/test')
  @ApiOperation({ summary: 'Send a test message to a channel' })
  @Returns(testSchema, 'Whether it was accepted, and why not.')
  async test(@Param('id', { schema: id }) channelId: string) {
    await this.requireChannel(channelId);
    return testChannel(this.dependencies, channelId);
  }

  @Get('rules')
  @ApiOperation({ summary: 'Show the rules by which things need attention' })
  @Returns(rulesSchema, 'The rules.')
  rules() {
    return readRules(this.dependencies.log);
  }

  @Patch('rules')
  @ApiOperation({ summary: 'Change the rules by which things need attention, here and in `doctor`' })
  @Returns(rulesSchema, 'The rules after the change.')
  changeRules(
    @Body({ schema: ruleChangesSchema }) changes: z.output<typeof ruleChangesSchema>,
    @Caller() { actor }: Principal,
  ) {
    const named = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    return changeRules(this.dependencies.log, actor, named);
  }

  private async requireChannel(channelId: string): Promise<void> {
    const channels = await readChannels(this.dependencies.log);
    if (!channels.some((each) => each.id === channelId))
      throw new NotFoundException(`There is no alert channel ${channelId}`);
  }
}
