import type { StoredEvent } from '../../log/event.js';
import { ATTENTION_KINDS, type AttentionItem, type Severity } from '../attention/attention-item.js';

export const CHANNEL_KINDS = ['email', 'slack', 'webhook'] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

export type AlertKind = (typeof ATTENTION_KINDS)[number];

/** What a person did, or has to decide: not told of unless a channel asks for it. */
const NOT_BY_DEFAULT: readonly AlertKind[] = [
  'site_paused',
  'connection_paused',
  'events_unmapped',
  'consent_unknown',
  'consent_choice',
  'key_expiring',
];
export const DEFAULT_KINDS: readonly AlertKind[] = ATTENTION_KINDS.filter((kind) => !NOT_BY_DEFAULT.includes(kind));

/** Where alerts are sent. Its address, secret and name are sealed, and in no event. */
export interface AlertChannel {
  readonly id: string;
  readonly kind: ChannelKind;
  /** Hosts; null: all sites, and what concerns none. */
  readonly sites: readonly string[] | null;
  /** Null: the default ones. */
  readonly kinds: readonly AlertKind[] | null;
  /** The least severe that it is told of. */
  readonly severity: Severity;
  readonly paused: boolean;
  readonly createdAt: string;
}

/** The channels as of the events of their stream, by id. */
export function evolveChannels(events: readonly StoredEvent[]): AlertChannel[] {
  const channels = new Map<string, AlertChannel>();
  for (const { type, data, time } of events) {
    if (type === 'log.alert_channel_added.v1') {
      const { channelId: id, kind, sites, kinds, severity } = data;
      // A later version may know kinds that this one does not.
      const known = kinds && ATTENTION_KINDS.filter((each) => kinds.includes(each));
      channels.set(id, { id, kind, sites, kinds: known, severity, paused: false, createdAt: time });
    } else if (type === 'log.alert_channel_paused.v1' || type === 'log.alert_channel_resumed.v1') {
      const { channelId } = data;
      const paused = type === 'log.alert_channel_paused.v1';
      for (const channel of channels.values())
        if (channelId === null || channel.id === channelId) channels.set(channel.id, { ...channel, paused });
    } else if (type === 'log.alert_channel_removed.v1') channels.delete(data.channelId);
  }
  return [...channels.values()];
}

/** Whether a channel is told of it. No channel is told that it fails itself: that would fail, too. */
export function isToldOf(
  channel: Pick<AlertChannel, 'id' | 'sites' | 'kinds' | 'severity' | 'paused'>,
  { kind, severity, site, subject }: Pick<AttentionItem, 'kind' | 'severity' | 'site' | 'subject'>,
): boolean {
  if (channel.paused || (channel.severity === 'error' && severity !== 'error')) return false;
  if (channel.sites && (site === undefined || !channel.sites.includes(site))) return false;
  if (kind === 'alerts_failing' && subject === channel.id) return false;
  return (channel.kinds ?? DEFAULT_KINDS).includes(kind);
}
