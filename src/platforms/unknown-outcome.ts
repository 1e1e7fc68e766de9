import type { Verdict } from './platform.js';

/**
 * Whether the platform may have accepted the conversion although its answer does not say so. From then on every attempt
 * must send the same payload to the same account, and within the platform's dedup window.
 */
export function mayHaveBeenAccepted(verdict: Verdict): boolean {
  switch (verdict.kind) {
    case 'retry':
      // A throttled request is refused before it is processed. After every other error the platform may have processed it.
      return verdict.unknown ?? verdict.reason !== 'throttled';
    case 'split':
      return verdict.unknown ?? false;
    default:
      return false;
  }
}

/** Reasons of deferred outcomes that events of earlier versions, which did not record it, may have been accepted with. */
const UNKNOWN_REASONS: ReadonlySet<string | null> = new Set(['timeout', 'network_error', 'server_error']);

/** Whether a deferred outcome leaves open if the platform accepted the conversion. */
export function isUnknownOutcome(unknown: boolean | undefined, reason: string | null): boolean {
  return unknown ?? UNKNOWN_REASONS.has(reason);
}
