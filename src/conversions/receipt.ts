import type { ConversionEvent } from './conversion.js';

/** What became of a conversion at one platform. */
export interface PlatformResult {
  readonly ok: boolean;
  readonly status: string;
  readonly reason?: string;
}

export type Receipt =
  | { readonly ok: true; readonly event: string; readonly results: Readonly<Record<string, PlatformResult>> }
  | { readonly ok: true; readonly deduped: true }
  | { readonly ok: true; readonly filtered: true };

/** The answer to the post, and to every later question about it: the same body with that moment's results. */
export function receiptOf(opening: ConversionEvent, results: Readonly<Record<string, PlatformResult>>): Receipt {
  switch (opening.type) {
    case 'conversion.received.v1':
      return { ok: true, event: opening.data.event, results };
    case 'conversion.deduplicated.v1':
      return { ok: true, deduped: true };
    case 'conversion.filtered.v1':
      return { ok: true, filtered: true };
  }
}
