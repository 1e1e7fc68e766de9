import type { Command } from 'commander';
import { OUTBOUND } from '../events/outbound.events.js';
import { UserError } from '../kernel/errors.js';
import { pushNow } from '../outbound/push-now.js';
import { type WebhookSecrets, webhookSecrets } from '../outbound/push-request.js';
import { openHttpClient, Pusher, pusherOptions, type Receiver } from '../outbound/pusher.js';
import { streamOf } from '../outbound/reporting-window.js';
import type { Site } from '../sites/site.js';
import { type Sites, webhookOf } from '../sites/sites.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { card } from './output.js';
import type { Opened, Session } from './session.js';
import { commandGroup, verb } from './verb.js';
import { webhookCard, webhookDocument } from './webhook-output.js';

interface SiteOptions {
  readonly site: string;
  readonly json?: true;
}

export function addWebhook(program: Command, session: Session): void {
  const { output } = session;
  const webhook = commandGroup(program, 'webhook', "Where a site's totals are pushed to, every 15 minutes");

  verb(
    webhook,
    'set',
    'Set the address, and the secret if it is given; where there is none yet, one is made',
    'webhook set --site shop.example --url https://hooks.shop.example/totals',
  )
    .requiredOption('--site <host>', 'whose totals')
    .requiredOption('--url <url>', 'an https address of yours')
    .option('--secret <text>', 'sent as bearer, and the key of the signature; for 24 h the one before it signs too')
    .action(async (options: SiteOptions & { url: string; secret?: string }) => {
      const opened = await session.open();
      const { host } = await opened.sites.get(options.site);
      const { url, secret } = options;
      const { outboundAllowPrivate: allowPrivate } = opened.settings;
      const { webhook, madeSecret } = await opened.sites.setWebhook(host, { url, secret, allowPrivate });
      await show(opened, host, webhook, options.json, madeSecret);
      if (options.json) return;
      if (madeSecret !== undefined) output.note('Keep the secret now: it is stored sealed and cannot be shown again.');
      if (!webhook.enabled) output.note(`It is disabled: "webhook enable --site ${host}" makes it push again.`);
    });

  verb(webhook, 'show', 'The webhook, and how its newest push stands', 'webhook show --site shop.example')
    .requiredOption('--site <host>', 'whose webhook')
    .action(async ({ site, json }: SiteOptions) => {
      const opened = await session.open();
      const found = await opened.sites.get(site);
      await show(opened, found.host, webhookOf(found), json);
    });

  verb(
    webhook,
    'test',
    'Send zeros, marked as a test; no stretch is closed or moved',
    'webhook test --site shop.example',
  )
    .requiredOption('--site <host>', 'whose webhook')
    .action(async ({ site, json }: SiteOptions) => {
      const opened = await session.open();
      const receiver = await receiverOf(opened, await opened.sites.get(site));
      const { url, enabled } = receiver.webhook;
      const beganMs = performance.now();
      const { accepted, ...result } = await withPusher(opened, (pusher) => pusher.test(receiver));
      const durationMs = Math.round(performance.now() - beganMs);
      const document = { url, enabled, ok: accepted, ...plain(result), durationMs };
      await output.show(json, document, () => card(document));
      if (!accepted) session.exitCode = 1;
      if (!accepted && !json)
        output.note(`The receiver did not accept the test push: ${'reason' in result ? result.reason : ''}`);
    });

  verb(webhook, 'push', 'Close and push now what has come up to now', 'webhook push --site shop.example')
    .requiredOption('--site <host>', 'whose totals')
    .action(async ({ site, json }: SiteOptions) => {
      const opened = await session.open();
      const found = await opened.sites.get(site);
      const receiver = await receiverOf(opened, found);
      if (!receiver.webhook.enabled) throw disabled(found.host, receiver.webhook);
      const { outboundTimeoutMs } = opened.settings;
      const pushed = await withPusher(opened, (pusher) =>
        pushNow(opened.postgres.pool, pusher, receiver, outboundTimeoutMs),
      );
      const document = webhookDocument(webhookOf(await opened.sites.get(site)), pushed);
      await output.show(json, document, () => webhookCard(document));
      if (pushed.type === 'outbound.delivered.v1') return;
      session.exitCode = 1;
      if (!json) output.note(`The receiver did not accept the push: ${pushed.data.reason}`);
    });

  change('enable', 'Push again, beginning with what was held', (sites, host) => sites.enableWebhook(host));
  change('disable', 'Push nothing until "webhook enable"; what is counted meanwhile is pushed then', (sites, host) =>
    sites.disableWebhook(host),
  );

  function change(word: string, description: string, act: (sites: Sites, host: string) => Promise<SiteWebhook>): void {
    verb(webhook, word, description, `webhook ${word} --site shop.example`)
      .requiredOption('--site <host>', 'whose webhook')
      .action(async ({ site, json }: SiteOptions) => {
        const opened = await session.open();
        const { host } = await opened.sites.get(site);
        await show(opened, host, await act(opened.sites, host), json);
      });
  }

  async function show(
    { log }: Opened,
    host: string,
    webhook: SiteWebhook,
    json: true | undefined,
    madeSecret?: string,
  ): Promise<void> {
    const [end] = await log.readEnds(OUTBOUND, [streamOf(host)]);
    const document = webhookDocument(webhook, end, madeSecret);
    await output.show(json, document, () => webhookCard(document));
  }
}

async function receiverOf({ secrets }: Opened, site: Site): Promise<Receiver & { secrets: WebhookSecrets }> {
  const webhook = webhookOf(site);
  const opened = webhookSecrets(await secrets.connectionSecrets(site.host, 'outbound'));
  if (!opened)
    throw new UserError(
      `SECRET_KEY does not open the secret of ${site.host}'s webhook. Set the key it was sealed with, or give it again: "webhook set --site ${site.host} --url ${webhook.url} --secret …".`,
    );
  return { site: site.host, webhook, secrets: opened };
}

async function withPusher<Result>(
  { log, sites, settings }: Opened,
  work: (pusher: Pusher) => Promise<Result>,
): Promise<Result> {
  const pusher = new Pusher(log, sites, openHttpClient(settings), pusherOptions(settings, 'cli'));
  try {
    return await work(pusher);
  } finally {
    await pusher.end();
  }
}

function plain({ httpStatus, reason }: { httpStatus?: number; reason?: string }) {
  return { ...(httpStatus !== undefined && { httpStatus }), ...(reason !== undefined && { reason }) };
}

function disabled(host: string, { reason }: SiteWebhook): UserError {
  const why = reason === undefined ? '' : ` (${reason})`;
  return new UserError(
    `The webhook of ${host} is disabled${why}. "webhook enable --site ${host}" pushes again, beginning with what was held.`,
  );
}
