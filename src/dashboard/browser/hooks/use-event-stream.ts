import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../api.js';
import { followEvents, type StreamState } from '../stream/event-stream.js';
import type { LiveEvent } from '../stream/live-events.js';
import { WaitingEvents } from '../stream/waiting-events.js';

/** Events are handed over in batches, so that hundreds in a second cost a few renders. */
const BATCH_EVERY_MS = 200;

interface StreamOptions {
  readonly site: string;
  /** Undefined: events of all types. */
  readonly types?: readonly string[] | undefined;
  /** The stream starts after this position, once it is known. */
  readonly after: number | undefined;
  onEvents(events: readonly LiveEvent[]): void;
  /** The service did not send everything that was missed. */
  onSkipped?(): void;
}

/**
 * Calls `onEvents` with what happens at a site from `after` on, without gaps; `onSkipped` if there is one after all. In a
 * hidden tab there is no connection, because a browser opens six to a host: the seventh tab would wait for ever.
 */
export function useEventStream({ site, types, after, onEvents, onSkipped }: StreamOptions): StreamState {
  const [state, setState] = useState<StreamState>('connecting');
  const isVisible = useIsVisible();
  const latest = useRef({ onEvents, onSkipped });
  latest.current = { onEvents, onSkipped };
  const key = [site, ...(types ?? [])].join(' ');
  const reached = useRef({ key, after, position: after });
  useEffect(() => {
    if (after === undefined || !isVisible) return;
    if (reached.current.key !== key || reached.current.after !== after)
      reached.current = { key, after, position: after };
    const waiting = new WaitingEvents();
    const handOver = () => {
      const { events, dropped } = waiting.take();
      // Not of what has arrived: what still waits when the tab is hidden is requested again.
      reached.current.position = waiting.position ?? reached.current.position;
      if (dropped > 0) latest.current.onSkipped?.();
      if (events.length > 0) latest.current.onEvents(events);
    };
    const stop = followEvents({ site, types }, reached.current.position ?? after, {
      onState: setState,
      onEvents: (events) => waiting.add(events),
      onSkipped: () => latest.current.onSkipped?.(),
      // If the session has ended, this leads to the sign-in.
      onFailed: () => void api.GET('/api/v1/session').catch(() => {}),
    });
    const timer = setInterval(handOver, BATCH_EVERY_MS);
    return () => {
      stop();
      clearInterval(timer);
      handOver();
    };
  }, [key, after, isVisible]);
  return state;
}

/** Whether the tab is shown. */
function useIsVisible(): boolean {
  const [isVisible, setVisible] = useState(isShown);
  useEffect(() => {
    const update = () => setVisible(isShown());
    document.addEventListener('visibilitychange', update);
    return () => document.removeEventListener('visibilitychange', update);
  }, []);
  return isVisible;
}

function isShown(): boolean {
  return document.visibilityState === 'visible';
}
