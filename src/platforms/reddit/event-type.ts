import { fitsCodePoints } from '../../kernel/code-points.js';

/** Reddit's own events; every other name is a custom one. Amounts are taken with some only. */
const STANDARD: ReadonlyMap<string, { readonly amount: boolean }> = new Map([
  ['PURCHASE', { amount: true }],
  ['LEAD', { amount: true }],
  ['SIGN_UP', { amount: true }],
  ['ADD_TO_CART', { amount: true }],
  ['ADD_TO_WISHLIST', { amount: true }],
  ['PAGE_VISIT', { amount: false }],
  ['VIEW_CONTENT', { amount: false }],
  ['SEARCH', { amount: false }],
]);

export interface EventType {
  readonly tracking_type: string;
  readonly custom_event_name?: string;
}

export function eventType(name: string): EventType {
  return STANDARD.has(name) ? { tracking_type: name } : { tracking_type: 'CUSTOM', custom_event_name: name };
}

export function takesAmount({ tracking_type }: EventType): boolean {
  return STANDARD.get(tracking_type)?.amount ?? true;
}

export function isEventName(name: string): boolean {
  return name !== '' && fitsCodePoints(name, 64);
}
