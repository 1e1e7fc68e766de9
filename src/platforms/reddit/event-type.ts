import { fitsCodePoints } from '../../kernel/code-points.js';

/** Standard events; every other name is a custom event. Only some of them may have an amount or a number of items. */
const STANDARD: ReadonlyMap<string, { readonly amount: boolean; readonly itemCount: boolean }> = new Map([
  ['PURCHASE', { amount: true, itemCount: true }],
  ['LEAD', { amount: true, itemCount: false }],
  ['SIGN_UP', { amount: true, itemCount: false }],
  ['ADD_TO_CART', { amount: true, itemCount: true }],
  ['ADD_TO_WISHLIST', { amount: true, itemCount: true }],
  ['PAGE_VISIT', { amount: false, itemCount: false }],
  ['VIEW_CONTENT', { amount: false, itemCount: false }],
  ['SEARCH', { amount: false, itemCount: false }],
]);

export interface EventType {
  readonly tracking_type: string;
  readonly custom_event_name?: string;
}

export function eventType(name: string): EventType {
  return STANDARD.has(name) ? { tracking_type: name } : { tracking_type: 'CUSTOM', custom_event_name: name };
}

export function allowsAmount({ tracking_type }: EventType): boolean {
  return STANDARD.get(tracking_type)?.amount ?? true;
}

export function allowsItemCount({ tracking_type }: EventType): boolean {
  return STANDARD.get(tracking_type)?.itemCount ?? true;
}

export function isEventName(name: string): boolean {
  return name !== '' && fitsCodePoints(name, 64);
}
