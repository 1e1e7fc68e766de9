import type { ConversionData, ConversionPersonal } from '../events/conversion.events.js';
import type { Visit } from '../platforms/conversion.js';
import { type Attribution, attributionOf } from './carried-identifiers.js';

const QUARTER_MS = 15 * 60_000;

/** A received conversion as statistics count it. */
export interface CountedConversion {
  readonly position: number;
  readonly site: string;
  readonly quarter: string;
  readonly currency: string;
  readonly value: number;
  readonly matched: boolean;
  /** Matched to a visit that was identified after it. */
  readonly joined: boolean;
  readonly platforms: string;
  /** Undefined if the person was erased. */
  readonly attribution: Attribution | undefined;
}

export interface ReceivedParts {
  readonly position: number;
  readonly site: string;
  readonly timeMs: number;
  readonly data: ConversionData;
  readonly personal: ConversionPersonal | null;
}

/** `visit`: the one that was identified later. */
export function countedConversion(
  { position, site, timeMs, data, personal }: ReceivedParts,
  visit?: Visit,
): CountedConversion {
  const known = personal && visit ? { ...personal, visit } : personal;
  return {
    position,
    site,
    quarter: quarterOf(timeMs),
    currency: data.currency,
    value: data.value ?? 0,
    matched: data.matched === true || visit !== undefined,
    joined: visit !== undefined,
    platforms: (data.platforms ?? []).join(','),
    attribution: known ? attributionOf(known, timeMs) : undefined,
  };
}

let lastQuarter = { startMs: Number.NaN, text: '' };

/** The start of the quarter of an hour. Consecutive events are mostly of the same one, which is formatted once. */
export function quarterOf(timeMs: number): string {
  const startMs = timeMs - (timeMs % QUARTER_MS);
  if (startMs !== lastQuarter.startMs) lastQuarter = { startMs, text: new Date(startMs).toISOString() };
  return lastQuarter.text;
}
