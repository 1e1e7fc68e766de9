import { useEffect, useRef, useState } from 'preact/hooks';
import { api, dataOf } from './api.js';
import { followEvents, type StreamState } from './event-stream.js';
import type { LiveEvent } from './live-events.js';
import { useIsVisible } from './use-visible.js';

export type { StreamState } from './event-stream.js';

/** Events are shown in batches, so that hundreds in a second cost a few renders. */
const FLUSH_MS = 250;
/** More than fits on a page between two renders; after a pause there can be thousands. */
const WAITING_MAX = 200;

/**
 * Calls `onEvents` with what happens at a site from `after` on, without gaps; `onSkipped` if there is one after all. In a
 * hidden tab there is no connection, because a browser opens six to a host: the seventh tab would wait for ever.
 */
export function useEventStream(
  site: string,
  after: number | undefined,
  onEvents: (events: readonly LiveEvent[]) => void,
  onSkipped?: () => void,
): StreamState {
  const [state, setState] = useState<StreamState>('connecting');
  const isVisible = useIsVisible();
  const latest = useRef({ onEvents, onSkipped });
  latest.current = { onEvents, onSkipped };
  const reached = useRef({ site, after, position: after });
  useEffect(() => {
    if (after === undefined || !isVisible) return;
    if (reached.current.site !== site || reached.current.after !== after)
      reached.current = { site, after, position: after };
    let waiting: string[] = [];
    const stop = followEvents(site, reached.current.position ?? after, {
      onState: setState,
      onEvents: (events, position) => {
        reached.current.position = position;
        waiting = [...waiting, ...events].slice(-WAITING_MAX);
      },
      onSkipped: () => latest.current.onSkipped?.(),
      // If the session has ended, this leads to the sign-in.
      onFailed: () => void dataOf(api.GET('/api/v1/session')).catch(() => {}),
    });
    const flush = () => {
      const events = waiting;
      waiting = [];
      if (events.length > 0) latest.current.onEvents(events.map((event) => JSON.parse(event) as LiveEvent));
    };
    const timer = setInterval(flush, FLUSH_MS);
    return () => {
      stop();
      clearInterval(timer);
      flush();
    };
  }, [site, after, isVisible]);
  return state;
}
