import { type Command, Option } from 'commander';
import { newestCheckpoint } from '../checkpoints/checkpoints.js';
import { OUTBOUND } from '../events/outbound.events.js';
import { UserError } from '../kernel/errors.js';
import { pushNow } from '../outbound/push-now.js';
import { type WebhookSecrets, webhookSecrets } from '../outbound/push-request.js';
import { openHttpClient, Pusher, pusherOptions, type Receiver } from '../outbound/pusher.js';
import { streamOf } from '../outbound/reporting-window.js';
import type { Site } from '../sites/site.js';
import { DisableWebhook, EnableWebhook, SetWebhook } from '../sites/webhook.commands.js';
import { requireWebhook, type SiteWebhook } from '../sites/webhook.js';
import { card } from './output.js';
import type { CliDependencies, Session } from './session.js';
import { commandGroup, subcommand } from './subcommand.js';
import { webhookCard, webhookDocument } from './webhook-output.js';

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
    'Set the URL and the secret; without --secret the current one stays, or one is generated',
    'webhook set --site shop.example --url https://hooks.shop.example/totals',
  )
    .requiredOption('--site <host>', 'site of the totals')
    .requiredOption('--url <url>', 'https URL that receives the totals; - reads it from standard input')
    .option('--secret <text>', 'bearer token and signing key, - from standard input; the previous one signs for 24 h')
    .addOption(new Option('--secret-file <path>', 'the same, from a file').conflicts('secret'))
    .action(async (options: SiteOptions & { url: string; secret?: string; secretFile?: string }) => {
      const dependencies = await session.open();
      const { sites, commands, settings } = dependencies;
      const { host } = await sites.get(options.site);
      const url = await session.input.value('--url', options.url);
      const secret =
        options.secretFile !== undefined
          ? session.input.file('--secret-file', options.secretFile)
          : options.secret && (await session.input.value('--secret', options.secret));
      const request = { url, secret, allowPrivate: settings.outboundAllowPrivate };
      const { webhook, generatedSecret } = await commands.execute(new SetWebhook('cli', host, request));
      await show(dependencies, host, webhook, options.json, generatedSecret);
      if (options.json) return;
      if (generatedSecret !== undefined)
        output.note('Save the secret now: it is stored sealed and cannot be shown again.');
      if (!webhook.enabled) output.note(`It is disabled: "webhook enable --site ${host}" resumes pushing.`);
    });

  subcommand(webhook, 'show', 'Show the webhook and its latest push', 'webhook show --site shop.example')
    .requiredOption('--site <host>', 'site of the webhook')
    .action(async ({ site, json }: SiteOptions) => {
      const dependencies = await session.open();
      const found = await dependencies.sites.get(site);
      await show(dependencies, found.host, requireWebhook(found), json);
    });

  subcommand(
    webhook,
    'test',
    'Send a test push with zero totals; no reporting window is closed',
    'webhook test --site shop.example',
  )
    .requiredOption('--site <host>', 'site of the webhook')
    .action(async ({ site, json }: SiteOptions) => {
      const dependencies = await session.open();
      const receiver = await receiverOf(dependencies, await dependencies.sites.get(site));
      const { url, enabled } = receiver.webhook;
      const startedMs = performance.now();
      const { accepted: ok, ...answer } = await withPusher(dependencies, (pusher) => pusher.test(receiver));
      const durationMs = Math.round(performance.now() - startedMs);
      const document = { url, enabled, ok, ...answerDocument(answer), durationMs };
      await output.show(json, document, () => card(document));
      if (!ok) session.exitCode = 1;
      if (!ok && !json) output.note(rejectedText('reason' in answer ? answer.reason : ''));
    });

  subcommand(webhook, 'push', 'Close the reporting window and push its totals now', 'webhook push --site shop.example')
    .requiredOption('--site <host>', 'site of the totals')
    .action(async ({ site, json }: SiteOptions) => {
      const dependencies = await session.open();
      const { sites, postgres, settings } = dependencies;
      const found = await sites.get(site);
      const receiver = await receiverOf(dependencies, found);
      if (!receiver.webhook.enabled) throw disabled(found.host, receiver.webhook);
      const pushed = await withPusher(dependencies, (pusher) =>
        pushNow(postgres, pusher, receiver, settings.outboundTimeoutMs),
      );
      const document = webhookDocument(requireWebhook(await sites.get(site)), pushed);
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
      .action(async ({ site, json }: SiteOptions) => {
        const dependencies = await session.open();
        const { host } = await dependencies.sites.get(site);
        const changed = await dependencies.commands.execute(new WebhookCommand('cli', host));
        await show(dependencies, host, changed, json);
      });
  }

  async function show(
    { log }: CliDependencies,
    host: string,
    webhook: SiteWebhook,
    json: true | undefined,
    generatedSecret?: string,
  ): Promise<void> {
    const [end] = await log.readEnds(OUTBOUND, [streamOf(host)]);
    const document = webhookDocument(webhook, end, generatedSecret);
    await output.show(json, document, () => webhookCard(document));
  }
}

async function receiverOf({ secrets }: CliDependencies, site: Site): Promise<Receiver & { secrets: WebhookSecrets }> {
  const webhook = requireWebhook(site);
  const stored = webhookSecrets(webhook, await secrets.connectionSecrets(site.host, 'outbound'));
  if (!stored)
    throw new UserError(
      `SECRET_KEY does not open the secret of ${site.host}'s webhook. Use the key that sealed it, or set it again: "webhook set --site ${site.host} --url … --secret …".`,
    );
  return { site: site.host, webhook, secrets: stored };
}

async function withPusher<Result>(
  { postgres, log, commands, settings }: CliDependencies,
  work: (pusher: Pusher) => Promise<Result>,
): Promise<Result> {
  const pusher = new Pusher(log, commands, openHttpClient(settings), {
    ...pusherOptions(settings, 'cli', postgres.clock),
    checkpoint: () => newestCheckpoint(postgres.pool),
  });
  try {
    return await work(pusher);
  } finally {
    await pusher.end();
  }
}

function answerDocument({ httpStatus, reason }: { httpStatus?: number; reason?: string }) {
  return { ...(httpStatus !== undefined && { httpStatus }), ...(reason !== undefined && { reason }) };
}

function rejectedText(reason: string): string {
  return `The receiver did not accept the push: ${reason}. Fix the receiver and run the command again.`;
}

function disabled(host: string, { reason }: SiteWebhook): UserError {
  const why = reason === undefined ? '' : ` (${reason})`;
  return new UserError(
    `The webhook of ${host} is disabled${why}. "webhook enable --site ${host}" resumes pushing, starting with the totals held back.`,
  );
}
