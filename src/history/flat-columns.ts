import { CONSENT_FIELDS } from '../platforms/conversion.js';
import type { RedactedEvent } from './redact-event.js';

/** `position`: of a log, an integer of 64 bits. */
export type ColumnType = 'text' | 'decimal' | 'integer' | 'position' | 'number' | 'boolean' | 'time';
export type FlatValue = string | number | boolean | null;

export interface FlatColumn<Row = RedactedEvent> {
  readonly name: string;
  readonly type: ColumnType;
  /** Null if the event has no such field, or if the field has another type. */
  of(row: Row): FlatValue;
}

type Fields = Readonly<Record<string, unknown>>;

/** Beside click ids a sender may state cookies and the id of a lead of Meta, which are none. */
const NOT_CLICKS: ReadonlySet<string> = new Set(['fbc', 'fbp', 'lead_id']);
const UTM_FIELDS = ['source', 'medium', 'campaign', 'term', 'content', 'id'] as const;

/** The events of pushes have no status: their type tells it. */
const PUSH_OUTCOMES: Readonly<Record<string, string>> = {
  'outbound.delivered.v1': 'delivered',
  'outbound.failed.v1': 'failed',
};

/**
 * Columns with the same name and type in every export, whatever events it contains. They repeat fields of `data` and `personal`,
 * whose type can differ from event to event, and those that not every event has. Names and types must stay: columns are only ever added, at the end.
 */
export const FLAT_COLUMNS: readonly FlatColumn[] = [
  ofData('conversion_id', 'text', 'conversionId'),
  ofData('order_id', 'text', 'orderId'),
  ofData('event', 'text', 'event'),
  ofData('value', 'decimal', 'value'),
  ofData('currency', 'text', 'currency'),
  ofData('occurred_at', 'time', 'occurredAt'),
  ofData('source', 'text', 'source'),
  ofData('trial', 'boolean', 'trial'),
  ofData('correction', 'boolean', 'correction'),
  ofData('matched', 'boolean', 'matched'),
  ofData('platform', 'text', 'platform'),
  column('outcome', 'text', ({ type, data }) => fieldsOf(data)['status'] ?? PUSH_OUTCOMES[type]),
  ofData('reason', 'text', 'reason'),
  ofData('attempt', 'integer', 'attempt'),
  ofData('http_status', 'integer', 'httpStatus'),
  ofData('duration_ms', 'number', 'durationMs'),
  ofData('next_try', 'time', 'nextTry'),
  ofData('consent', 'text', 'consent'),
  ...CONSENT_FIELDS.map((field) => column(`consent_${field}`, 'text', ({ data }) => consentOf(fieldsOf(data))[field])),
  column('bot_score', 'integer', botScore),
  column('click_kind', 'text', clickKinds),
  ...UTM_FIELDS.map((field) => column(`utm_${field}`, 'text', ({ personal }) => utmOf(fieldsOf(personal))[field])),
  column('origin', 'position', ({ origin }) => origin),
  ofData('event_id', 'text', 'eventId'),
];

function ofData(name: string, type: ColumnType, field: string): FlatColumn {
  return column(name, type, ({ data }) => (data as Fields)[field]);
}

function column(name: string, type: ColumnType, read: (event: RedactedEvent) => unknown): FlatColumn {
  return { name, type, of: (event) => typed(type, read(event)) };
}

function typed(type: ColumnType, value: unknown): FlatValue {
  switch (type) {
    case 'text':
      return typeof value === 'string' ? value : null;
    case 'time':
      return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? new Date(value).toISOString() : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'integer':
      return Number.isInteger(value) && Math.abs(value as number) < 2 ** 31 ? (value as number) : null;
    case 'position':
      return Number.isSafeInteger(value) ? (value as number) : null;
    case 'number':
    case 'decimal':
      return Number.isFinite(value) ? (value as number) : null;
  }
}

function botScore({ type, data }: RedactedEvent): unknown {
  const fields = fieldsOf(data);
  return type === 'visitor.bot_detected.v1' ? fields['score'] : fieldsOf(fields['bot'])['score'];
}

/** In alphabetical order, separated by commas: a visit can bring several. */
function clickKinds({ data, personal }: RedactedEvent): string | undefined {
  const { clicks } = fieldsOf(data);
  const { visit, clickIds } = fieldsOf(personal);
  const kinds = Array.isArray(clicks)
    ? clicks.map(String)
    : [...Object.keys(fieldsOf(fieldsOf(visit)['clicks'])), ...Object.keys(fieldsOf(clickIds))];
  // Senders state `ScCid`, as Snapchat writes it.
  const distinct = new Set(kinds.map((kind) => kind.toLowerCase()).filter((kind) => !NOT_CLICKS.has(kind)));
  return distinct.size === 0 ? undefined : [...distinct].sort().join(',');
}

/** UTM fields of the visit that a conversion was matched to, of the visit itself, or of the sender. */
function utmOf(personal: Fields): Fields {
  return fieldsOf(fieldsOf(personal['visit'])['utm'] ?? personal['utm']);
}

/** A visitor's statement, or that of a conversion's sender. */
function consentOf(data: Fields): Fields {
  return fieldsOf(data['sentConsent'] ?? data['consent']);
}

function fieldsOf(value: unknown): Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : {};
}
