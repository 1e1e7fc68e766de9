import type { StoredEvent } from '../log/event.js';
import { printable } from './output.js';

/** An event as it is shown: whole, but for the hash of an API key, which nobody outside has a use for. */
export function shown(event: StoredEvent): StoredEvent {
  if (event.type !== 'site.key_issued.v1') return event;
  const { hash: _, ...data } = event.data;
  return { ...event, data };
}

export const FORMATS = { ndjson, csv } as const;
export type Format = keyof typeof FORMATS;

const COLUMNS = ['position', 'id', 'type', 'stream', 'version', 'site', 'time', 'actor', 'data', 'personal'] as const;

export function ndjson(events: readonly StoredEvent[]): string {
  return events.map((event) => `${JSON.stringify(shown(event))}\n`).join('');
}

/** RFC 4180. `data` and `personal` are JSON in their cell, so that reading them back gives what was written. */
export function csv(events: readonly StoredEvent[], isFirst: boolean): string {
  const lines = events.map((stored) => {
    const event = shown(stored);
    return COLUMNS.map((column) => {
      return cell(column === 'data' || column === 'personal' ? JSON.stringify(event[column]) : String(event[column]));
    }).join(',');
  });
  if (isFirst) lines.unshift(COLUMNS.join(','));
  return lines.map((line) => `${line}\r\n`).join('');
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One line for people. */
export function eventLine(stored: StoredEvent): string {
  const { position, time, type, site, actor, data } = shown(stored);
  return `${position}  ${time}  ${type}  ${site}  ${actor}  ${printable(JSON.stringify(data))}\n`;
}
