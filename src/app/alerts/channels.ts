import type { ClientBase } from 'pg';
import { ALERT_CHANNELS_STREAM, LOG, type LogEvent, NO_SITE } from '../../events/log.events.js';
import type { Actor } from '../../kernel/command.js';
import { UserError } from '../../kernel/errors.js';
import { redactUrl } from '../../kernel/redact-url.js';
import type { Settings } from '../../kernel/settings/settings.js';
import { uuidv7 } from '../../kernel/uuid.js';
import { appendingTransaction } from '../../log/append/append-in-transaction.js';
import type { EventLog } from '../../log/event-log.js';
import type { Postgres } from '../../postgres/postgres.js';
import { generateWebhookSecret } from '../../sites/connections/connection-settings.js';
import type { SiteRepository } from '../../sites/site-repository.js';
import type { SiteSecrets } from '../../sites/site-secrets.js';
import { validateWebhook } from '../../sites/webhook.js';
import { type AlertChannel, type ChannelKind, evolveChannels } from './channel.js';
import type { ChannelSecrets } from './send-message.js';

const CHANNELS_MAX = 50;
const FIELDS = ['name', 'to', 'url', 'secret'] as const;

export interface ChannelDependencies {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly secrets: SiteSecrets;
  readonly sites: SiteRepository;
}

export interface NewChannel extends Partial<Pick<AlertChannel, 'sites' | 'kinds' | 'severity'>> {
  readonly kind: ChannelKind;
  readonly name?: string | undefined;
  /** An email address, or the URL. */
  readonly to: string;
}

/** A channel as it is shown: the address of an email, and the redacted URL of others. */
export interface ShownChannel extends AlertChannel {
  readonly name?: string | undefined;
  /** Undefined if SECRET_KEY does not open it. */
  readonly to?: string | undefined;
}

export async function readChannels(log: Pick<EventLog, 'readStream'>): Promise<AlertChannel[]> {
  return evolveChannels(await log.readStream(LOG, ALERT_CHANNELS_STREAM));
}

export async function readChannel(log: Pick<EventLog, 'readStream'>, id: string): Promise<AlertChannel> {
  const channel = (await readChannels(log)).find((each) => each.id === id);
  if (!channel) throw new UserError(`There is no alert channel ${id}. "alerts list" shows them.`);
  return channel;
}

export async function shownChannels({
  log,
  secrets,
}: Pick<ChannelDependencies, 'log' | 'secrets'>): Promise<ShownChannel[]> {
  const opened = await channelSecrets(secrets);
  return (await readChannels(log)).map((channel) => shown(channel, opened(channel)));
}

/** The secrets of each channel. */
export async function channelSecrets(
  secrets: SiteSecrets,
): Promise<(channel: Pick<AlertChannel, 'id'>) => ChannelSecrets> {
  const found = (await secrets.connectionSecretsOf([NO_SITE])).get(NO_SITE);
  return ({ id }) => found?.get(ownerOf(id)) ?? {};
}

/** `secret`: what webhooks are signed with. It cannot be shown again. */
export async function addChannel(
  { settings, postgres, log, secrets, sites }: ChannelDependencies,
  actor: Actor,
  { kind, name, to, sites: hosts, kinds = null, severity = 'warning' }: NewChannel,
): Promise<{ readonly channel: ShownChannel; readonly secret?: string }> {
  const { length } = await readChannels(log);
  if (length >= CHANNELS_MAX)
    throw new UserError(`There are ${CHANNELS_MAX} alert channels already. Remove one first.`);
  const known = hosts ? await Promise.all(hosts.map(async (host) => (await sites.get(host)).host)) : null;
  const address = addressOf(kind, to, settings);
  const secret = kind === 'webhook' ? generateWebhookSecret() : undefined;
  const id = uuidv7();
  const sealed = { ...address, ...(name !== undefined && { name }), ...(secret !== undefined && { secret }) };
  await secrets.recordKey();
  const data = { channelId: id, kind, sites: known, kinds: kinds && [...kinds], severity };
  await record(postgres, actor, { type: 'log.alert_channel_added.v1', data }, (client) =>
    secrets.within(client).storeConnectionSecrets(NO_SITE, ownerOf(id), sealed),
  );
  const channel = shown(await readChannel(log, id), sealed);
  return { channel, ...(secret !== undefined && { secret }) };
}

/** With what waits to be sent to it. */
export async function removeChannel(
  { postgres, log, secrets }: ChannelDependencies,
  actor: Actor,
  id: string,
): Promise<void> {
  await readChannel(log, id);
  await record(postgres, actor, { type: 'log.alert_channel_removed.v1', data: { channelId: id } }, async (client) => {
    await secrets.within(client).deleteConnectionSecrets(NO_SITE, ownerOf(id), FIELDS);
    await client.query('DELETE FROM cc.alert_messages WHERE channel = $1', [id]);
  });
}

/** A paused channel is told of nothing. When it goes on, it is told of what has not ended. */
export async function pauseChannel(
  { postgres, log, secrets }: ChannelDependencies,
  actor: Actor,
  id: string,
  paused: boolean,
): Promise<ShownChannel> {
  const channel = await readChannel(log, id);
  const type = paused ? 'log.alert_channel_paused.v1' : 'log.alert_channel_resumed.v1';
  if (channel.paused !== paused) await record(postgres, actor, { type, data: { channelId: id } }, async () => {});
  return shown({ ...channel, paused }, (await channelSecrets(secrets))(channel));
}

/** They are in the table of all secrets, so that a change of SECRET_KEY includes them. */
function ownerOf(id: string): `alert-${string}` {
  return `alert-${id}`;
}

function addressOf(kind: ChannelKind, to: string, { smtp, outboundAllowPrivate }: Settings): ChannelSecrets {
  if (kind !== 'email')
    return { url: validateWebhook({ url: to, secret: undefined, allowPrivate: outboundAllowPrivate }).url };
  if (!smtp) throw new UserError('Emails need a server: set SMTP_URL and ALERT_FROM, and restart the service.');
  if (to.length > 254 || !/^[^\s@,;<>"()]+@[^\s@,;<>"()]+$/.test(to))
    throw new UserError('This is not an email address.');
  return { to };
}

function shown(channel: AlertChannel, { name, to, url }: ChannelSecrets): ShownChannel {
  return { ...channel, name, to: to ?? (url === undefined ? undefined : redactUrl(url)) };
}

async function record(
  postgres: Postgres,
  actor: Actor,
  event: LogEvent,
  change: (client: ClientBase) => Promise<void>,
): Promise<void> {
  const of = { category: LOG, stream: ALERT_CHANNELS_STREAM, expected: 'any', site: NO_SITE, actor } as const;
  await appendingTransaction(postgres, async (client, append) => {
    await change(client);
    await append({ ...of, events: [event] });
  });
}
