import { hash, randomUUID } from 'node:crypto';

/** A UUIDv7: begins with the time, so that an index on it grows at its right edge only. */
export function uuidv7(): string {
  const nowMs = Date.now();
  // Under load many are made within one millisecond, and spelling the time costs more than the rest.
  if (nowMs !== spelledMs) {
    const hex = nowMs.toString(16).padStart(12, '0');
    spelledTime = `${hex.slice(0, 8)}-${hex.slice(8)}-7`;
    spelledMs = nowMs;
  }
  return spelledTime + randomUUID().slice(15);
}

let spelledMs = Number.NaN;
let spelledTime = '';

/** A UUIDv8 that follows from a name: whoever asks with the same name gets the same one. */
export function derivedUuid(name: string): string {
  const digest = hash('sha256', name);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}
