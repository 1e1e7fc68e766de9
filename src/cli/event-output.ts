import { shown } from '../history/shown.js';
import type { StoredEvent } from '../log/event.js';
import { printable } from './output.js';

export function ndjson(events: readonly StoredEvent[]): string {
  return events.map((event) => `${JSON.stringify(shown(event))}\n`).join('');
}

/** One line of text. */
export function eventLine(stored: StoredEvent): string {
  const { position, time, type, site, actor, data } = shown(stored);
  return `${position}  ${time}  ${type}  ${site}  ${actor}  ${printable(JSON.stringify(data))}\n`;
}
