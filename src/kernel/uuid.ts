import { hash, randomUUID } from 'node:crypto';

/** A UUIDv7: begins with the time, so that an index on it grows only at its right edge. */
export function uuidv7(): string {
  const nowMs = Date.now();
  // Under load many are made in one millisecond, and formatting the time costs more than the rest.
  if (nowMs !== formattedMs) {
    const hex = nowMs.toString(16).padStart(12, '0');
    formattedTime = `${hex.slice(0, 8)}-${hex.slice(8)}-7`;
    formattedMs = nowMs;
  }
  return formattedTime + randomUUID().slice(15);
}

let formattedMs = Number.NaN;
let formattedTime = '';

/** A UUIDv8 derived from a name: the same name always gives the same UUID. */
export function derivedUuid(name: string): string {
  const digest = hash('sha256', name);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}
