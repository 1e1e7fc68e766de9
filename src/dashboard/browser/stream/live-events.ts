import type { EventType, Schemas } from '../api.js';
import { connectionTitle, formatDuration, formatMoney, type Tone } from '../format.js';
import { auditDetail } from '../views/audit-view.js';
import { reasonText } from '../views/reason-view.js';
import type { StreamState } from './event-stream.js';
import { STEP_ROWS } from './rows-in-steps.js';

export type LiveEvent = Schemas['Event'];

/** What the filter of the live page offers. */
export const EVENT_GROUPS = {
  conversions: 'Conversions',
  deliveries: 'Deliveries',
  visits: 'Visits',
  pushes: 'Pushes of totals',
  refused: 'Refused requests',
  changes: 'Changes to the site',
} as const;

export type EventGroup = keyof typeof EVENT_GROUPS;

type Description = readonly [group: EventGroup | undefined, title: string, tone: Tone];

/** Complete: the compiler names a type that is missing here. Those without a group do not belong to a site. */
const DESCRIPTIONS: Readonly<Record<EventType, Description>> = {
  'conversion.received.v1': ['conversions', 'Conversion received', 'wait'],
  'conversion.deduplicated.v1': ['conversions', 'Duplicate, not counted', 'plain'],
  'conversion.filtered.v1': ['conversions', 'Filtered out, not counted', 'warn'],
  'conversion.delivered.v1': ['deliveries', 'Delivered', 'ok'],
  'conversion.accepted.v1': ['deliveries', 'Accepted by the platform', 'ok'],
  'conversion.confirmed.v1': ['deliveries', 'Confirmed by the platform', 'ok'],
  'conversion.rejected.v1': ['deliveries', 'Rejected by the platform', 'bad'],
  'conversion.skipped.v1': ['deliveries', 'Not sent', 'plain'],
  'conversion.deferred.v1': ['deliveries', 'Will be retried', 'warn'],
  'conversion.failed.v1': ['deliveries', 'Delivery failed', 'bad'],
  'conversion.validated.v1': ['deliveries', 'Checked, not sent (trial key)', 'ok'],
  'conversion.send_requested.v1': ['deliveries', 'Sent again by an operator', 'wait'],
  'conversion.reopened.v1': ['deliveries', 'Visit found later, sent again', 'wait'],
  'visitor.visited.v1': ['visits', 'Visit', 'plain'],
  'visitor.clicked.v1': ['visits', 'Visit, by its click id', 'plain'],
  'visitor.identified.v1': ['visits', 'Visitor identified', 'plain'],
  'visitor.consent_changed.v1': ['visits', 'Consent changed', 'plain'],
  'visitor.bot_detected.v1': ['visits', 'Bot detected', 'warn'],
  'visitor.rejudged.v1': ['visits', 'Bot score changed', 'plain'],
  'visitor.erased.v1': ['visits', 'Personal data erased', 'plain'],
  'outbound.closed.v1': ['pushes', 'Totals ready to push', 'plain'],
  'outbound.delivered.v1': ['pushes', 'Totals pushed', 'ok'],
  'outbound.failed.v1': ['pushes', 'Push of totals failed', 'bad'],
  'auth.failed.v1': ['refused', 'Refused: missing or wrong key', 'bad'],
  'auth.throttled.v1': ['refused', 'Refused: too many wrong keys', 'bad'],
  'inbound.rejected.v1': ['refused', 'Refused: invalid conversion', 'bad'],
  'inbound.deliveries_refused.v1': ['refused', 'Refused: webhook of a source', 'bad'],
  'inbound.delivery_ignored.v1': ['refused', 'Webhook of a source that is no conversion', 'plain'],
  'site.registered.v1': ['changes', 'Site added', 'plain'],
  'site.aliases_changed.v1': ['changes', 'Other hosts of the site changed', 'plain'],
  'site.removed.v1': ['changes', 'Site removed', 'plain'],
  'site.inbound_enabled.v1': ['changes', 'Conversions accepted from now on', 'plain'],
  'site.inbound_disabled.v1': ['changes', 'Conversions no longer accepted', 'warn'],
  'site.paused.v1': ['changes', 'Site paused', 'warn'],
  'site.resumed.v1': ['changes', 'Site resumed', 'plain'],
  'site.move_started.v1': ['changes', 'Site about to move to another cell', 'warn'],
  'site.move_cancelled.v1': ['changes', 'Move of the site cancelled', 'plain'],
  'site.moved_out.v1': ['changes', 'Site moved to another cell', 'warn'],
  'site.moved_in.v1': ['changes', 'Site moved here from another cell', 'plain'],
  'site.key_issued.v1': ['changes', 'Key created', 'plain'],
  'site.key_revoked.v1': ['changes', 'Key revoked', 'plain'],
  'site.key_rotated.v1': ['changes', 'Key replaced', 'plain'],
  'site.source_connected.v1': ['changes', 'Source connected', 'plain'],
  'site.source_disconnected.v1': ['changes', 'Source disconnected', 'plain'],
  'site.settings_changed.v1': ['changes', 'Settings changed', 'plain'],
  'site.filter_added.v1': ['changes', 'Address blocked or allowed', 'plain'],
  'site.filter_removed.v1': ['changes', 'Blocked or allowed address removed', 'plain'],
  'site.platform_connected.v1': ['changes', 'Platform connected', 'plain'],
  'site.platform_disconnected.v1': ['changes', 'Platform disconnected', 'plain'],
  'site.platform_paused.v1': ['changes', 'Platform paused', 'warn'],
  'site.platform_resumed.v1': ['changes', 'Platform resumed', 'plain'],
  'site.platform_parked.v1': ['changes', 'Platform needs attention', 'bad'],
  'site.webhook_configured.v1': ['changes', 'Webhook changed', 'plain'],
  'site.webhook_enabled.v1': ['changes', 'Webhook enabled', 'plain'],
  'site.webhook_disabled.v1': ['changes', 'Webhook disabled', 'warn'],
  'site.job_created.v1': ['changes', 'Job created', 'plain'],
  'site.job_cancelled.v1': ['changes', 'Job cancelled', 'plain'],
  'user.added.v1': [undefined, 'User added', 'plain'],
  'user.changed.v1': [undefined, 'User changed', 'plain'],
  'user.renamed.v1': [undefined, 'User renamed', 'plain'],
  'user.disabled.v1': [undefined, 'User disabled', 'plain'],
  'user.enabled.v1': [undefined, 'User enabled', 'plain'],
  'user.reset.v1': [undefined, 'Password reset', 'plain'],
  'user.password_chosen.v1': [undefined, 'Password chosen', 'plain'],
  'user.identity_linked.v1': [undefined, 'Provider account linked', 'plain'],
  'user.signed_in.v1': [undefined, 'Signed in', 'plain'],
  'user.signed_out.v1': [undefined, 'Signed out', 'plain'],
  'user.signed_out_everywhere.v1': [undefined, 'Signed out everywhere', 'plain'],
  'user.token_created.v1': [undefined, 'API token created', 'plain'],
  'user.token_revoked.v1': [undefined, 'API token revoked', 'plain'],
  'user.oauth_app_set.v1': [undefined, 'OAuth app set', 'plain'],
  'user.oauth_app_removed.v1': [undefined, 'OAuth app removed', 'plain'],
  'log.clock_stepped.v1': [undefined, 'Clock changed', 'warn'],
  'log.failed_over.v1': [undefined, 'Database failed over', 'warn'],
  'log.partition_removed.v1': [undefined, 'Old events removed', 'plain'],
  'log.key_rotated.v1': [undefined, 'Signing key replaced', 'plain'],
  'log.alert_channel_added.v1': [undefined, 'Alert channel added', 'plain'],
  'log.alert_channel_paused.v1': [undefined, 'Alert channel paused', 'warn'],
  'log.alert_channel_resumed.v1': [undefined, 'Alert channel resumed', 'plain'],
  'log.alert_channel_removed.v1': [undefined, 'Alert channel removed', 'plain'],
  'log.alert_rules_changed.v1': [undefined, 'Alert rules changed', 'plain'],
  'log.platform_defined.v1': [undefined, 'Platform defined', 'plain'],
  'log.version_started.v1': [undefined, 'Version started', 'plain'],
};

function describe(type: string): Description {
  if (Object.hasOwn(DESCRIPTIONS, type)) return DESCRIPTIONS[type as EventType];
  // From a newer version of the service.
  return [undefined, type.replace(/\.v\d+$/, '').replaceAll(/[._]/g, ' '), 'plain'];
}

export function eventTitle(type: string): string {
  return describe(type)[1];
}

export function eventTone(type: string): Tone {
  return describe(type)[2];
}

/** A group of events, or the events of one type of a site. */
type EventKind = EventGroup | EventType;

/** What the address chooses. Undefined: events of all types. */
export function kindOf(chosen: string | undefined): EventKind | undefined {
  if (chosen === undefined) return undefined;
  if (Object.hasOwn(EVENT_GROUPS, chosen)) return chosen as EventGroup;
  return describe(chosen)[0] === undefined ? undefined : (chosen as EventType);
}

/** The types of a kind, for a request. */
export function typesOf(kind: EventKind | undefined): EventType[] | undefined {
  if (kind === undefined) return undefined;
  return (Object.keys(DESCRIPTIONS) as EventType[]).filter((type) => type === kind || DESCRIPTIONS[type][0] === kind);
}

/** Events shown at once, and events kept for another filter text. */
const SHOWN_MAX = 200;
const KEPT_MAX = 1_000;
/** More rows cannot be read while they move. */
const MOVING_MAX = 50;

/** What the live page has received: all newest first, and bounded. */
export interface Feed {
  readonly kept: readonly LiveEvent[];
  /** Those that contain the text. Older than the kept ones if the text is rare. */
  readonly shown: readonly LiveEvent[];
  /** Those of them that are listed while others arrive. */
  readonly moving: readonly LiveEvent[];
  /** How many were never among the moving ones, because they arrived faster than they could be rendered. */
  readonly passed: number;
  readonly text: string;
}

export const EMPTY_FEED: Feed = { kept: [], shown: [], moving: [], passed: 0, text: '' };

/** Filters what arrived before anything is cut, so that a rare text is found however many other events arrive. */
export function addToFeed({ kept, shown, moving, passed, text }: Feed, arrived: readonly LiveEvent[]): Feed {
  const matching = arrived.filter((event) => contains(event, text));
  const newest = moving[0]?.position ?? 0;
  const all = addEvents(shown, matching, SHOWN_MAX);
  const later = all.slice(0, STEP_ROWS).filter(({ position }) => position > newest);
  const isMoving = moving.length > 0;
  return {
    kept: addEvents(kept, arrived, KEPT_MAX),
    shown: all,
    moving: (isMoving ? [...later, ...moving] : all).slice(0, MOVING_MAX),
    passed: passed + (isMoving ? matching.filter(({ position }) => position > newest).length - later.length : 0),
    text,
  };
}

/** The feed with a text, its newest events listed. */
export function filterFeed({ kept }: Feed, text: string): Feed {
  const shown = kept.filter((event) => contains(event, text)).slice(0, SHOWN_MAX);
  return moveOn({ kept, shown, moving: [], passed: 0, text });
}

/** The feed when it moves on after a pause: its newest events are listed. */
export function moveOn(feed: Feed): Feed {
  return { ...feed, moving: feed.shown.slice(0, MOVING_MAX), passed: 0 };
}

/** Adds events, newest first. An event may arrive twice: with the list, and with the stream. */
function addEvents(shown: readonly LiveEvent[], arrived: readonly LiveEvent[], max: number): readonly LiveEvent[] {
  if (arrived.length === 0) return shown;
  // As a stream has them: without sorting what is shown again.
  if (areInOrder(arrived) && (arrived[0] as LiveEvent).position > (shown[0]?.position ?? 0))
    return [...arrived.slice(-max).reverse(), ...shown].slice(0, max);
  const byPosition = new Map([...shown, ...arrived].map((event) => [event.position, event]));
  return [...byPosition.values()].sort((one, other) => other.position - one.position).slice(0, max);
}

function areInOrder(events: readonly LiveEvent[]): boolean {
  return events.every(({ position }, index) => index === 0 || position > (events[index - 1] as LiveEvent).position);
}

/** Whether the title, the details or the id of the conversion contain every word. */
function contains(event: LiveEvent, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const line = [eventTitle(event.type), event.type, eventDetail(event), event.data['reason'], conversionIdOf(event)]
    .join(' ')
    .toLowerCase();
  return words.every((word) => line.includes(word));
}

/** What an event says about a conversion or a delivery, in the order in which it is read. Others list their values. */
export function eventDetail({ type, data }: Pick<LiveEvent, 'type' | 'data'>): string {
  if (!type.startsWith('conversion.')) {
    // Which process of the service counted it says nothing to a reader.
    const { instance: _, ...shown } = data;
    return auditDetail(shown);
  }
  const { orderId, event, value, currency, platform, reason, durationMs, attempt } = data as Partial<EventData>;
  const isRetry = attempt !== undefined && attempt > 1;
  return [
    orderId,
    event,
    value !== undefined && currency !== undefined && formatMoney(value, currency),
    platform !== undefined && connectionTitle(platform),
    isRetry && `attempt ${attempt}`,
    durationMs !== undefined && formatDuration(durationMs),
    reason !== undefined && reasonText(reason, platform),
  ]
    .filter(Boolean)
    .join(' · ');
}

/** The values of events that are shown. Events of one type have some of them. */
interface EventData {
  readonly orderId: string;
  readonly event: string;
  readonly value: number;
  readonly currency: string;
  readonly platform: string;
  readonly reason: string;
  readonly durationMs: number;
  readonly attempt: number;
}

export function conversionIdOf({ data }: Pick<LiveEvent, 'data'>): string | undefined {
  const id = data['conversionId'];
  return typeof id === 'string' ? id : undefined;
}

/** What a page says about its stream of events. */
export const STREAM_STATES: Readonly<Record<StreamState, readonly [tone: Tone, words: string]>> = {
  connecting: ['wait', 'connecting …'],
  open: ['ok', 'live'],
  lost: ['bad', 'connection lost, trying again'],
  full: ['bad', 'too many live pages are open: close another one'],
};
