import type { AttentionItem } from '../attention/attention-item.js';
import type { AlertKind } from './channel.js';

export type MessageType = 'started' | 'ended' | 'test';

/** What is sent to a channel. It is the same on every attempt. */
export interface AlertMessage {
  /** The `webhook-id`, and in the `Message-ID` of an email. */
  readonly id: string;
  readonly type: MessageType;
  readonly alertId: string;
  readonly item: Pick<AttentionItem, 'kind' | 'severity' | 'site' | 'platform' | 'subject' | 'count' | 'detail'>;
  readonly startedAt: string;
  readonly endedAt?: string | undefined;
}

/** What all messages of an installation have in common. */
export interface Sender {
  readonly cell: string;
  /** Of the dashboard; undefined where it is off. */
  readonly dashboardUrl: string | undefined;
}

const TITLES: Readonly<Record<AlertKind, string>> = {
  site_paused: 'Site paused',
  site_elsewhere: 'Another cell has the site',
  connection_parked: 'Connection parked',
  connection_paused: 'Connection paused',
  connection_expiring: 'Access token expires',
  deliveries_owed: 'Deliveries late',
  deliveries_expired: 'Conversions too old',
  deliveries_failing: 'Conversions refused',
  events_unmapped: 'Events not mapped',
  consent_unknown: 'Consent unknown',
  consent_choice: 'Personal data without consent',
  no_conversions: 'No conversions',
  match_rate_down: 'Match rate down',
  webhook_disabled: 'Webhook disabled',
  webhook_failing: 'Webhook failing',
  key_expiring: 'Key expires',
  token_expiring: 'API token expires',
  certificate_expiring: 'Certificate expires',
  projection_parked: 'Projection parked',
  projection_lagging: 'Projection behind',
  alerts_failing: 'Alerts not delivered',
};

/** One line: `Connection parked: meta at shop.example`. */
export function subjectOf({ type, item: { kind, platform, site, subject } }: AlertMessage): string {
  if (type === 'test') return 'Test: alerts arrive here';
  const about = kind.startsWith('projection_') ? subject : platform;
  const where = [about, site].filter((part) => part !== undefined).join(' at ');
  return `${type === 'ended' ? 'Ended: ' : ''}${TITLES[kind]}${where === '' ? '' : `: ${where}`}`;
}

/** The page of the dashboard on which something can be done about it. */
export function linkOf({ type, item: { site, kind } }: AlertMessage, { dashboardUrl }: Sender): string | undefined {
  if (dashboardUrl === undefined) return undefined;
  if (type === 'test' || kind === 'alerts_failing') return `${dashboardUrl}/settings/alerts`;
  if (site !== undefined) return `${dashboardUrl}/sites/${encodeURIComponent(site)}/overview`;
  if (kind === 'token_expiring') return `${dashboardUrl}/settings/tokens`;
  return `${dashboardUrl}/settings/${kind.startsWith('projection_') ? 'projections' : 'health'}`;
}

/** The text of an email, and of other messages for people. */
export function textOf(message: AlertMessage, sender: Sender): string {
  const { type, item, startedAt, endedAt } = message;
  const link = linkOf(message, sender);
  const lines = [
    ...(type === 'ended' ? [`It began at ${startedAt} and ended at ${endedAt}. It was:`] : []),
    item.detail,
    ...(type === 'started' ? [`Since ${startedAt}.`] : []),
    ...(link === undefined ? [] : [link]),
    `Cell ${sender.cell}.`,
  ];
  return `${lines.join('\n\n')}\n`;
}

/** The body of a webhook, as Standard Webhooks recommends. */
export function webhookBody(message: AlertMessage, sender: Sender): string {
  const { type, alertId, item, startedAt, endedAt } = message;
  const { kind, severity, site, platform, subject, count, detail } = item;
  return JSON.stringify({
    type: `alert.${type}`,
    timestamp: endedAt ?? startedAt,
    data: {
      ...{ id: alertId, title: subjectOf(message), kind, severity, site, platform, subject, count, detail },
      ...{ startedAt, endedAt, cell: sender.cell, url: linkOf(message, sender) },
    },
  });
}

/** The body for an incoming webhook of Slack. */
export function slackBody(message: AlertMessage, sender: Sender): string {
  const mark =
    message.type === 'ended' ? ':white_check_mark:' : message.item.severity === 'error' ? ':red_circle:' : ':warning:';
  const link = linkOf(message, sender);
  const text = [
    `${mark} *${escapeSlack(subjectOf(message))}*`,
    escapeSlack(message.item.detail),
    ...(link === undefined ? [] : [`<${link}|Open the dashboard>`]),
  ].join('\n');
  return JSON.stringify({ text });
}

/** The characters by which Slack finds links and mentions. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
