import { Body, Controller, Get, NotFoundException, Post, Put } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { lastPush, pushTotals, testWebhook } from '../../outbound/operate-webhook.js';
import { webhookDocument } from '../../outbound/webhook-document.js';
import type { Site } from '../../sites/site.js';
import { DisableWebhook, EnableWebhook, RotateWebhookSecret, SetWebhook } from '../../sites/webhook.commands.js';
import type { SiteWebhook } from '../../sites/webhook.js';
import type { Principal } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { time } from '../schemas.js';
import { findSite, SiteParam } from './site.param.js';

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
  async show(@SiteParam() site: Site) {
    return this.document(site.host, requireWebhook(site));
  }

  @Put()
  @Requires('write')
  @ApiOperation({
    summary:
      'Set the URL and the secret; without a secret the current one stays, or one is generated if there is none or the URL has another origin',
  })
  @Returns(webhookSchema, 'The webhook.')
  async set(
    @SiteParam() site: Site,
    @Body({ schema: newWebhookSchema }) { url, secret }: z.output<typeof newWebhookSchema>,
    @Caller() { actor }: Principal,
  ) {
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
  async rotateSecret(@SiteParam() site: Site, @Caller() { actor }: Principal) {
    requireWebhook(site);
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
    @SiteParam() site: Site,
    @Body({ schema: enabledSchema }) { enabled }: z.output<typeof enabledSchema>,
    @Caller() { actor }: Principal,
  ) {
    requireWebhook(site);
    const Change = enabled ? EnableWebhook : DisableWebhook;
    return this.document(site.host, await this.dependencies.commands.execute(new Change(actor, site.host)));
  }

  @Post('test')
  @Requires('write')
  @ApiOperation({ summary: 'Send a test push with zero totals' })
  @Returns(testSchema, 'What the receiver answered.')
  async test(@SiteParam() site: Site, @Caller() { actor }: Principal) {
    return testWebhook(this.dependencies, { ...site, webhook: requireWebhook(site) }, actor);
  }

  @Post('push')
  @Requires('write')
  @ApiOperation({ summary: 'Close the reporting window and push its totals now' })
  @Returns(webhookSchema, 'The webhook with its latest push, which the receiver may have refused.')
  async push(@SiteParam() site: Site, @Caller() { actor }: Principal) {
    await pushTotals(this.dependencies, { ...site, webhook: requireWebhook(site) }, actor);
    return this.document(site.host, requireWebhook(await findSite(this.dependencies.sites, site.host)));
  }

  private async document(site: string, webhook: SiteWebhook, generatedSecret?: string) {
    return webhookDocument(webhook, await lastPush(this.dependencies.log, site), generatedSecret);
  }
}

function requireWebhook({ host, webhook }: Site): SiteWebhook {
  if (!webhook) throw new NotFoundException(`${host} has no webhook yet.`);
  return webhook;
}
