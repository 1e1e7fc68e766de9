import { redactEvent } from '../../history/redact-event.js';
import type { StoredEvent } from '../../log/event.js';
import { printable } from './table.js';

export function ndjson(events: readonly StoredEvent[]): string {
  return events.map((event) => `${JSON.stringify(redactEvent(event))}\n`).join('');
}

/** One line of text. */
export function eventLine(stored: StoredEvent): string {
  const { position, time, type, site, actor, data } = redactEvent(stored);
  return `${position}  ${time}  ${type}  ${site}  ${actor}  ${printable(JSON.stringify(data))}\n`;
}
