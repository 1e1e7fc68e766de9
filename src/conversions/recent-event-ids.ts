import { hash } from 'node:crypto';
import type { ConversionData } from '../events/conversion.events.js';

/** About 10 MB. */
const IDS_MAX = 100_000;

const WARNING = 'eventId was sent with another conversion, and platforms count both once: send one id per conversion';

/**
 * Event ids of conversions that this instance received lately. Only for a warning: a conversion with the id of another one is
 * received and sent, and what another instance received is not known here.
 */
export class RecentEventIds {
  private readonly keys = new Set<string>();

  constructor(private readonly max = IDS_MAX) {}

  /** Remembers the id of a received conversion. Returns what to tell its sender; undefined if the id is new. */
  warningFor(site: string, { event, eventId, trial }: ConversionData): string | undefined {
    if (eventId === undefined) return undefined;
    // Platforms compare the names of events too.
    const key = hash('sha256', JSON.stringify([site, trial, event, eventId]), 'base64url');
    if (this.keys.has(key)) return WARNING;
    this.keys.add(key);
    if (this.keys.size > this.max) this.keys.delete(this.keys.values().next().value as string);
    return undefined;
  }
}
