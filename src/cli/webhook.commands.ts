import { type Command, Option } from 'commander';
import { counted } from '../kernel/counted.js';
import { lastPush, pushTotals, testWebhook } from '../outbound/operate-webhook.js';
import { webhookDocument } from '../outbound/webhook-document.js';
import {
  type ConfiguredWebhook,
  DisableWebhook,
  EnableWebhook,
  RotateWebhookSecret,
  SetWebhook,
} from '../sites/webhook.commands.js';
import { requireWebhook, type SiteWebhook } from '../sites/webhook.js';
import { CLI_ACTOR } from './cli-actor.js';
import { card } from './output/table.js';
import type { Session } from './session.js';
import { commandGroup, subcommand } from './subcommand.js';

interface SiteOptions {
  readonly site: string;
  readonly json?: true;
}

export function addWebhook(program: Command, session: Session): void {
  const { output } = session;
  const webhook = commandGroup(program, 'webhook', "Manage the webhook that receives a site's totals every 15 minutes");

  subcommand(
    webhook,
    'set',
    'Set the URL and the secret; without --secret the current one stays unless the URL has another origin',
    'webhook set --site shop.example --url https://hooks.shop.example/totals',
  )
    .requiredOption('--site <host>', 'site of the totals')
    .requiredOption('--url <url>', 'https URL that receives the totals; - reads it from standard input')
    .option('--secret <text>', 'bearer token and signing key, - from standard input; the previous one signs for 24 h')
    .addOption(new Option('--secret-file <path>', 'the same, from a file').conflicts('secret'))
    .action(async (options: SiteOptions & { url: string; secret?: string; secretFile?: string }) => {
      const { site, commands, settings } = await session.openSite(options.site);
      const url = await session.input.value('--url', options.url);
      const secret =
        options.secretFile !== undefined
          ? session.input.file('--secret-file', options.secretFile)
          : options.secret && (await session.input.value('--secret', options.secret));
      const request = { url, secret, allowPrivate: settings.outboundAllowPrivate };
      const configured = await commands.execute(new SetWebhook(CLI_ACTOR, site.host, request));
      await showConfigured(site.host, configured, options.json);
    });

  subcommand(
    webhook,
    'rotate-secret',
    'Replace the secret by a generated one, which is shown only once; the previous one signs, too, for 24 h',
    'webhook rotate-secret --site shop.example',
  )
    .requiredOption('--site <host>', 'site of the webhook')
    .action(async (options: SiteOptions) => {
      const { site, commands } = await session.openSite(options.site);
      const rotated = await commands.execute(new RotateWebhookSecret(CLI_ACTOR, site.host));
      await showConfigured(site.host, rotated, options.json);
    });

  subcommand(webhook, 'show', 'Show the webhook and its latest push', 'webhook show --site shop.example')
    .requiredOption('--site <host>', 'site of the webhook')
    .action(async (options: SiteOptions) => {
      const { site } = await session.openSite(options.site);
      await show(site.host, requireWebhook(site), options.json);
    });

  subcommand(
    webhook,
    'test',
    'Send a test push with zero totals; no reporting window is closed',
    'webhook test --site shop.example',
  )
    .requiredOption('--site <host>', 'site of the webhook')
    .action(async ({ site: host, json }: SiteOptions) => {
      const { site, ...dependencies } = await session.openSite(host);
      const document = await testWebhook(dependencies, site, CLI_ACTOR);
      await output.show(json, document, () => card(document));
      if (!document.ok) session.exitCode = 1;
      if (!document.ok && !json) output.note(rejectedText(document.reason ?? ''));
    });

  subcommand(webhook, 'push', 'Close the reporting window and push its totals now', 'webhook push --site shop.example')
    .requiredOption('--site <host>', 'site of the totals')
    .action(async ({ site: host, json }: SiteOptions) => {
      const { site, ...dependencies } = await session.openSite(host);
      const pushed = await pushTotals(dependencies, site, CLI_ACTOR);
      const document = webhookDocument(requireWebhook(await dependencies.sites.get(host)), pushed);
      await output.show(json, document, () => webhookCard(document));
      if (pushed.type === 'outbound.delivered.v1') return;
      session.exitCode = 1;
      if (!json) output.note(rejectedText(pushed.data.reason));
    });

  change('enable', 'Resume pushing, starting with the totals held back', EnableWebhook);
  change('disable', 'Stop pushing until "webhook enable"; totals are held back meanwhile', DisableWebhook);

  function change(
    name: string,
    description: string,
    WebhookCommand: typeof EnableWebhook | typeof DisableWebhook,
  ): void {
    subcommand(webhook, name, description, `webhook ${name} --site shop.example`)
      .requiredOption('--site <host>', 'site of the webhook')
      .action(async (options: SiteOptions) => {
        const { site, commands } = await session.openSite(options.site);
        await show(site.host, await commands.execute(new WebhookCommand(CLI_ACTOR, site.host)), options.json);
      });
  }

  async function showConfigured(
    host: string,
    { webhook, generatedSecret }: ConfiguredWebhook,
    json: true | undefined,
  ): Promise<void> {
    await show(host, webhook, json, generatedSecret);
    if (json) return;
    if (generatedSecret !== undefined)
      output.note('Save the secret now: it is stored sealed and cannot be shown again.');
    if (!webhook.enabled) output.note(`It is disabled: "webhook enable --site ${host}" resumes pushing.`);
  }

  async function show(
    host: string,
    webhook: SiteWebhook,
    json: true | undefined,
    generatedSecret?: string,
  ): Promise<void> {
    const { log } = await session.open();
    const document = webhookDocument(webhook, await lastPush(log, host), generatedSecret);
    await output.show(json, document, () => webhookCard(document));
  }
}

function rejectedText(reason: string): string {
  return `The receiver did not accept the push: ${reason}. Fix the receiver and run the command again.`;
}

function webhookCard({ lastPush, ...webhook }: ReturnType<typeof webhookDocument>): string {
  if (!lastPush) return card({ ...webhook, 'last push': undefined });
  const { id, status, time, attempt, conversions, bot_traffic_removed, windowStart, windowEnd, ...rest } = lastPush;
  return card({
    ...webhook,
    'last push': `${status} ${time}, attempt ${attempt}`,
    ...('reason' in rest && { 'push reason': rest.reason }),
    ...('nextTry' in rest && { 'next attempt': rest.nextTry }),
    'reporting window': `${id}, ${windowStart} to ${windowEnd}`,
    totals: `${counted(conversions, 'conversion')}, ${bot_traffic_removed} bot traffic removed`,
  });
}
