import { outcomeEvents } from './delivery.events.js';

/**
 * The first events of streams that begin even if their site is paused: what people decide about their data, which the browser states
 * once, outcomes of a conversion that retention has removed, without which its delivery would be repeated, and what was counted before the pause.
 */
export const BEGUN_WHILE_PAUSED: readonly string[] = [
  'visitor.erased.v1',
  'visitor.consent_changed.v1',
  'inbound.rejected.v1',
  'inbound.deliveries_refused.v1',
  ...Object.keys(outcomeEvents),
];
