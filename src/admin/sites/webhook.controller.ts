import { Body, Controller, Get, NotFoundException, Param, Post, Put } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { lastPush, pushTotals, testWebhook } from '../../outbound/operate-webhook.js';
import { webhookDocument } from '../../outbound/webhook-document.js';
import { DisableWebhook, EnableWebhook, RotateWebhookSecret, SetWebhook } from '../../sites/webhook.commands.js';
import type { SiteWebhook } from '../../sites/webhook.js';
import type { Principal } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { host, time } from '../schemas.js';
import { findSite } from './sites.controller.js';

const pushSchema = z
  .object({
    id: z.uuid(),
    conversions: z.int(),
    bot_traffic_removed: z.int(),
    windowStart: time,
    windowEnd: time,
    time,
    status: z.enum(['pending', 'delivered', 'failed']),
    attempt: z.int(),
    durationMs: z.int().optional(),
    httpStatus: z.int().optional(),
    reason: z.string().optional(),
    nextTry: time.optional(),
  })
  .meta({ id: 'Push' });

const webhookSchema = z
  .object({
    url: z.string().meta({ description: 'Parts that may be secret are redacted.' }),
    enabled: z.boolean(),
    reason: z.string().optional().meta({ description: 'Why the service disabled it.' }),
    since: time,
    secret: z.string().optional().meta({ description: 'Only if it was just generated. It cannot be shown again.' }),
    lastPush: pushSchema.optional(),
  })
  .meta({ id: 'Webhook' });

const newWebhookSchema = z.object({ url: z.string().max(2_048), secret: z.string().max(1_000).optional() }).strict();
const enabledSchema = z.object({ enabled: z.boolean() }).strict();

const testSchema = z
  .object({
    url: z.string(),
    enabled: z.boolean(),
    ok: z.boolean(),
    httpStatus: z.int().optional(),
    reason: z.string().optional(),
    durationMs: z.int(),
  })
  .meta({ id: 'WebhookTest' });

@ApiTags('Webhook')
@Controller('sites/:site/webhook')
export class WebhookController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'Show the webhook that receives the totals, and its latest push' })
  @Returns(webhookSchema, 'The webhook.')
  async show(@Param('site', { schema: host }) name: string) {
    const { host: site, webhook } = await this.find(name);
    return this.document(site, webhook);
  }

  @Put()
  @Requires('write')
  @ApiOperation({
    summary:
      'Set the URL and the secret; without a secret the current one stays, or one is generated if there is none or the URL has another origin',
  })
  @Returns(webhookSchema, 'The webhook.')
  async set(
    @Param('site', { schema: host }) name: string,
    @Body({ schema: newWebhookSchema }) { url, secret }: z.output<typeof newWebhookSchema>,
    @Caller() { actor }: Principal,
  ) {
    const site = await findSite(this.dependencies.sites, name);
    const request = { url, secret, allowPrivate: this.dependencies.settings.outboundAllowPrivate };
    const { webhook, generatedSecret } = await this.dependencies.commands.execute(
      new SetWebhook(actor, site.host, request),
    );
    return this.document(site.host, webhook, generatedSecret);
  }

  @Post('secret')
  @Requires('write')
  @ApiOperation({ summary: 'Replace the secret by a generated one; for 24 hours the previous one signs, too' })
  @Returns(webhookSchema, 'The webhook with the new secret, which is shown this once.')
  async rotateSecret(@Param('site', { schema: host }) name: string, @Caller() { actor }: Principal) {
    const site = await this.find(name);
    const { webhook, generatedSecret } = await this.dependencies.commands.execute(
      new RotateWebhookSecret(actor, site.host),
    );
    return this.document(site.host, webhook, generatedSecret);
  }

  @Put('enabled')
  @Requires('write')
  @ApiOperation({ summary: 'Resume or stop pushing; totals are held back meanwhile' })
  @Returns(webhookSchema, 'The webhook.')
  async enable(
    @Param('site', { schema: host }) name: string,
    @Body({ schema: enabledSchema }) { enabled }: z.output<typeof enabledSchema>,
    @Caller() { actor }: Principal,
  ) {
    const site = await this.find(name);
    const Change = enabled ? EnableWebhook : DisableWebhook;
    return this.document(site.host, await this.dependencies.commands.execute(new Change(actor, site.host)));
  }

  @Post('test')
  @Requires('write')
  @ApiOperation({ summary: 'Send a test push with zero totals' })
  @Returns(testSchema, 'What the receiver answered.')
  async test(@Param('site', { schema: host }) name: string, @Caller() { actor }: Principal) {
    return testWebhook(this.dependencies, await this.find(name), actor);
  }

  @Post('push')
  @Requires('write')
  @ApiOperation({ summary: 'Close the reporting window and push its totals now' })
  @Returns(webhookSchema, 'The webhook with its latest push, which the receiver may have refused.')
  async push(@Param('site', { schema: host }) name: string, @Caller() { actor }: Principal) {
    const site = await this.find(name);
    await pushTotals(this.dependencies, site, actor);
    const { webhook } = await this.find(name);
    return this.document(site.host, webhook);
  }

  private async find(name: string) {
    const site = await findSite(this.dependencies.sites, name);
    const { webhook } = site;
    if (!webhook) throw new NotFoundException(`${name} has no webhook yet.`);
    return { ...site, webhook };
  }

  private async document(site: string, webhook: SiteWebhook, generatedSecret?: string) {
    return webhookDocument(webhook, await lastPush(this.dependencies.log, site), generatedSecret);
  }
}
