import { useEffect, useRef, useState } from 'preact/hooks';
import { api, reachability } from '../api.js';
import { isAttended, whenAttended } from '../attended.js';
import type { StreamState } from '../stream/event-stream.js';
import type { LiveEvent } from '../stream/live-events.js';
import { SharedStream } from '../stream/shared-stream.js';

interface StreamOptions {
  readonly site: string;
  /** Undefined: events of all types. */
  readonly types?: readonly string[] | undefined;
  /** The stream starts after this position, once it is known. */
  readonly after: number | undefined;
  onEvents(events: readonly LiveEvent[]): void;
  /** The service did not send everything up to this position that was missed. */
  onSkipped?(until: number): void;
}

const streams = new Map<string, SharedStream>();
whenAttended((isOn) => {
  for (const stream of streams.values()) stream.turn(isOn);
});

function streamOf(site: string): SharedStream {
  const stream = streams.get(site) ?? new SharedStream(site, isAttended(), onFailed);
  streams.set(site, stream);
  return stream;
}

/** If the session has ended, the request leads to the sign-in. */
function onFailed(): void {
  reachability.askNow();
  void api.GET('/api/v1/session').catch(() => {});
}

/**
 * Calls `onEvents` with what happens at a site from `after` on, without gaps; `onSkipped` if there is one after all. There is one
 * connection for the whole tab, and none while the tab is hidden.
 */
export function useEventStream({ site, types, after, onEvents, onSkipped }: StreamOptions): StreamState {
  const [state, setState] = useState<StreamState>('connecting');
  const latest = useRef({ onEvents, onSkipped });
  latest.current = { onEvents, onSkipped };
  const key = [site, ...(types ?? [])].join(' ');
  useEffect(() => {
    if (after === undefined) return;
    return streamOf(site).add({
      types,
      position: after,
      onEvents: (events) => latest.current.onEvents(events),
      onSkipped: (until) => latest.current.onSkipped?.(until),
      onState: setState,
    });
  }, [key, after]);
  return state;
}
