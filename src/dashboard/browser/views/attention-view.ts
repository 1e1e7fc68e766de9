import type { Schemas } from '../api.js';
import { connectionTitle, counted, formatNumber, type Tone } from '../format.js';
import { pathOf, type SitePage, withQuery } from '../navigation.js';
import { type Connection, connectionState, withoutCommands } from './connection-view.js';

export type AttentionItem = Schemas['AttentionItem'];

/** What needs attention, by what it is about. */
export function attentionTitle({
  kind,
  platform,
  severity,
  count = 0,
}: Pick<AttentionItem, 'kind' | 'platform' | 'severity' | 'count'>): string {
  const subject = connectionTitle(platform ?? '');
  const expires = severity === 'error' ? 'has expired' : 'expires';
  const titles: Readonly<Record<AttentionItem['kind'], string>> = {
    site_paused: 'The site is paused',
    site_elsewhere: 'Another cell has the site',
    connection_parked: `${subject} needs attention`,
    connection_paused: `${subject} is paused`,
    connection_expiring: `The sign-in at ${subject} ${expires}`,
    deliveries_owed: `Deliveries to ${subject} are late`,
    deliveries_expired: `Conversions became too old for ${subject}`,
    deliveries_failing: `${subject} refuses conversions`,
    events_unmapped: `${counted(count, 'event')} ${count === 1 ? 'goes' : 'go'} nowhere at ${subject}`,
    consent_unknown: `${subject} does not know the consent of people`,
    consent_choice: 'Personal data leaves without consent',
    no_conversions: 'No conversions are received',
    match_rate_down: 'Fewer conversions than usual are matched',
    webhook_disabled: 'The webhook is disabled',
    webhook_failing: 'The webhook does not accept pushes',
    key_expiring: `A key ${expires}`,
    token_expiring: `A token ${expires}`,
    certificate_expiring: `The certificate ${expires}`,
    projection_parked: 'Numbers are no longer updated',
    projection_lagging: 'Numbers are behind',
    alerts_failing: 'Alerts are not delivered',
  };
  return titles[kind] ?? kind;
}

/** What to do about it and what it affects, without the commands of the command line. */
export function attentionDetail({ kind, detail, count }: Pick<AttentionItem, 'kind' | 'detail' | 'count'>): string {
  const affected = count === undefined || count === 0 ? undefined : affectedOf(kind, count);
  return [withoutCommands(detail) ?? detail, affected].filter(Boolean).join(' · ');
}

function affectedOf(kind: AttentionItem['kind'], count: number): string | undefined {
  // Its title and its text have the numbers.
  if (kind === 'events_unmapped' || kind === 'deliveries_failing') return undefined;
  if (kind === 'no_conversions' || kind === 'match_rate_down' || kind === 'alerts_failing') return undefined;
  // The service counts up to 10,000.
  const waiting = count >= 10_000 ? `more than ${formatNumber(10_000)} conversions` : counted(count, 'conversion');
  if (kind === 'connection_parked' || kind === 'connection_paused')
    return `${waiting} ${count === 1 ? 'is' : 'are'} waiting, none lost`;
  if (kind === 'deliveries_owed') return `${waiting} ${count === 1 ? 'is' : 'are'} waiting`;
  if (kind === 'consent_unknown') return `${counted(count, 'conversion')} refused`;
  if (kind === 'deliveries_expired') return `${counted(count, 'conversion')} not sent`;
  if (kind === 'consent_choice') return `${counted(count, 'statement')} in 30 days`;
  if (kind === 'webhook_failing') return counted(count, 'failed push', 'failed pushes');
  return `${counted(count, 'event')} behind`;
}

/** What the button beside it does: a request that solves it at once, or a page where a person does. */
export type AttentionAction =
  | { readonly kind: 'resume'; readonly label: string; readonly site: string; readonly connection: string }
  | { readonly kind: 'enable' | 'test'; readonly label: string; readonly site: string }
  | { readonly kind: 'open'; readonly label: string; readonly path: string };

interface Viewer {
  readonly mayWrite: boolean;
  readonly mayOperateAll: boolean;
}

/** Undefined if none is possible. Someone who may not change the site gets the page. */
export function attentionAction(item: AttentionItem, { mayWrite, mayOperateAll }: Viewer): AttentionAction | undefined {
  const { kind, site, platform } = item;
  const open = (label: string, path: string): AttentionAction => ({ kind: 'open', label, path });
  if (kind === 'token_expiring') return open('Create a token', '/settings/tokens');
  const isOfService = /^(?:projection|certificate)_/.test(kind);
  if (mayOperateAll && kind === 'alerts_failing') return open('Show alerts', '/settings/alerts');
  if (mayOperateAll && kind.startsWith('projection_')) return open('Show projections', '/settings/projections');
  if (mayOperateAll && (isOfService || kind === 'deliveries_owed'))
    return open('Check the service', '/settings/health');
  if (site === undefined || isOfService) return undefined;
  if (kind.startsWith('site_')) return open('Show the site', pathOf(site, 'site'));
  if (kind === 'consent_choice') return open(mayWrite ? 'Choose' : 'Show', pathOf(site, 'consent'));
  if (kind === 'no_conversions') return open('Show the sync log', pathOf(site, 'sync-log'));
  if (kind === 'match_rate_down') return open('Show the tag', pathOf(site, 'tag'));
  if (kind === 'key_expiring') return open('Show keys', pathOf(site, 'keys'));
  if (kind.startsWith('webhook')) {
    if (!mayWrite) return open('Show the webhook', pathOf(site, 'webhook'));
    return kind === 'webhook_disabled'
      ? { kind: 'enable', label: 'Enable', site }
      : { kind: 'test', label: 'Test', site };
  }
  if (platform === undefined) return undefined;
  if (kind === 'events_unmapped')
    return open(mayWrite ? 'Map' : 'Show', withQuery(pathOf(site, 'mapping'), { platform }));
  if (kind.startsWith('deliveries_') || kind === 'consent_unknown')
    return open('Show deliveries', withQuery(pathOf(site, 'sync-log'), { platform }));
  if (kind === 'connection_paused' && mayWrite) return { kind: 'resume', label: 'Resume', site, connection: platform };
  const label = kind !== 'connection_paused' && mayWrite ? 'Reconnect' : 'Show';
  return open(label, withQuery(pathOf(site, 'integrations'), { connection: platform }));
}

/** At the open site, and what concerns no site. */
export function attentionOf(items: readonly AttentionItem[], site: string | undefined): AttentionItem[] {
  return items.filter((item) => item.site === undefined || item.site === site);
}

type BadgePage = SitePage | 'settings';

export interface BadgeOfPage {
  readonly count: number;
  readonly tone: Tone;
}

export type Badges = Readonly<Partial<Record<BadgePage, BadgeOfPage>>>;

/** How much needs attention on each page, as bad as the worst of it. */
export function badgesOf(items: readonly Pick<AttentionItem, 'kind' | 'severity' | 'site'>[]): Badges {
  const badges: Partial<Record<BadgePage, BadgeOfPage>> = {};
  for (const item of items) {
    const page = pageOf(item);
    const { count = 0, tone } = badges[page] ?? {};
    badges[page] = { count: count + 1, tone: tone === 'bad' ? tone : severityTone(item) };
  }
  return badges;
}

/** Of all pages together. */
export function totalOf(items: readonly Pick<AttentionItem, 'severity'>[]): BadgeOfPage | undefined {
  const [first] = items;
  if (!first) return undefined;
  const worst = items.find(({ severity }) => severity === 'error') ?? first;
  return { count: items.length, tone: severityTone(worst) };
}

function pageOf({ kind, site }: Pick<AttentionItem, 'kind' | 'site'>): BadgePage {
  if (site === undefined) return 'settings';
  if (kind.startsWith('site_')) return 'site';
  if (kind.startsWith('webhook_')) return 'webhook';
  if (kind === 'events_unmapped') return 'mapping';
  if (kind === 'no_conversions') return 'sync-log';
  if (kind === 'match_rate_down') return 'tag';
  if (kind === 'consent_choice') return 'consent';
  return kind === 'key_expiring' ? 'keys' : 'integrations';
}

export function severityTone({ severity }: Pick<AttentionItem, 'severity'>): Tone {
  return severity === 'error' ? 'bad' : 'warn';
}

/** The title of the browser's tab, with how much needs attention. */
export function tabTitle(title: string, items: readonly unknown[]): string {
  return `${items.length > 0 ? `(${items.length}) ` : ''}${title} · Clean Conversions`;
}

/** At a connection, the worst first. */
export function itemsAt(items: readonly AttentionItem[], site: string, connection: string): AttentionItem[] {
  return items.filter((item) => item.site === site && item.platform === connection);
}

/** The worst of the state of a connection and of what needs attention at it; the worst item comes first. */
export function connectionHealth(
  connection: Pick<Connection, 'connected' | 'state' | 'needsReconnection'>,
  items: readonly Pick<AttentionItem, 'kind' | 'severity'>[],
): [Tone, string] {
  const [tone, words] = connectionState(connection);
  const [worst] = items;
  if (tone === 'bad' || !connection.connected || worst === undefined) return [tone, words];
  if (worst.kind === 'connection_paused') return [tone, words];
  return [severityTone(worst), ATTENTION_WORDS[worst.kind] ?? 'Needs attention'];
}

const ATTENTION_WORDS: Readonly<Partial<Record<AttentionItem['kind'], string>>> = {
  deliveries_owed: 'Late',
  deliveries_expired: 'Too late',
  deliveries_failing: 'Refuses',
  events_unmapped: 'Events unmapped',
  connection_expiring: 'Sign in again',
};
