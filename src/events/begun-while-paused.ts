import { outcomeEvents } from './delivery.events.js';

/**
 * The first events of streams that begin even if their site is paused: what people decide about their data, which the browser states
 * once, and outcomes of a conversion that retention has removed, without which its delivery would be repeated.
 */
export const BEGUN_WHILE_PAUSED: readonly string[] = [
  'visitor.erased.v1',
  'visitor.consent_changed.v1',
  ...Object.keys(outcomeEvents),
];
