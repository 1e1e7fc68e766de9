import type { AttentionItem } from '../attention/attention-item.js';

/** What needs attention, from when it was first seen until it has ended. */
export interface OpenAlert {
  readonly id: string;
  readonly key: string;
  readonly item: AttentionItem;
  readonly seenMs: number;
  /** Undefined: it has not lasted long enough to be told of. */
  readonly startedMs?: number | undefined;
  readonly missingMs?: number | undefined;
}

export type AlertChange =
  | { readonly kind: 'seen'; readonly key: string; readonly item: AttentionItem }
  | { readonly kind: 'dismissed' | 'started' | 'missing' | 'back'; readonly id: string }
  /** `told`: those who know of its start are told of its end. */
  | { readonly kind: 'ended'; readonly id: string; readonly missingMs: number; readonly told: boolean };

/** What the service knows at a moment. */
export interface Observation {
  readonly nowMs: number;
  /** How long something must last, or be gone, before it is told of. */
  readonly holdMs: number;
  readonly items: readonly AttentionItem[];
  /** Whether nothing can be said about it now: its site is paused, or what it is counted from is not up to date. */
  isUnknown(item: AttentionItem): boolean;
}

/** The same thing has the same key. One that gets worse is another alert, for those who are told of errors only. */
export function keyOf(item: AttentionItem): string {
  return `${item.severity} ${subjectKeyOf(item)}`;
}

function subjectKeyOf({ kind, site = '', platform = '', subject = '' }: AttentionItem): string {
  return [kind, site, platform, subject].join(' ');
}

/** What has changed since the alerts were stored. */
export function changesOf(open: readonly OpenAlert[], observation: Observation): AlertChange[] {
  const { items, isUnknown } = observation;
  const current = new Map(items.map((item) => [keyOf(item), item]));
  const subjects = new Set(items.map(subjectKeyOf));
  const known = new Set(open.map(({ key }) => key));
  const changes = open.flatMap((alert): AlertChange[] => {
    const { id, item, startedMs } = alert;
    if (isUnknown(item)) {
      if (startedMs === undefined) return [{ kind: 'dismissed', id }];
      return alert.missingMs === undefined ? [] : [{ kind: 'back', id }];
    }
    return current.has(alert.key)
      ? whileThere(alert, observation)
      : whileGone(alert, observation, subjects.has(subjectKeyOf(item)));
  });
  const added = [...current].filter(([key, item]) => !known.has(key) && !isUnknown(item));
  return [...changes, ...added.map(([key, item]) => ({ kind: 'seen' as const, key, item }))];
}

function whileThere({ id, seenMs, startedMs, missingMs }: OpenAlert, observation: Observation): AlertChange[] {
  if (missingMs !== undefined) return [{ kind: 'back', id }];
  return startedMs === undefined && hasHeld(seenMs, observation) ? [{ kind: 'started', id }] : [];
}

/** `hasChanged`: it is there with another severity, which is told of as its start. */
function whileGone(
  { id, startedMs, missingMs }: OpenAlert,
  observation: Observation,
  hasChanged: boolean,
): AlertChange[] {
  if (startedMs === undefined) return [{ kind: 'dismissed', id }];
  if (missingMs === undefined) return [{ kind: 'missing', id }];
  return hasHeld(missingMs, observation) ? [{ kind: 'ended', id, missingMs, told: !hasChanged }] : [];
}

/** A time that has not come was stored by a clock that was ahead. */
function hasHeld(sinceMs: number, { nowMs, holdMs }: Observation): boolean {
  return nowMs < sinceMs || nowMs - sinceMs >= holdMs;
}
