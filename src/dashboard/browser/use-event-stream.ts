import { useEffect, useRef, useState } from 'preact/hooks';
import { api, dataOf } from './api.js';
import type { LiveEvent } from './live-events.js';

/** Events are shown in batches, so that hundreds in a second cost a few renders. */
const FLUSH_MS = 250;
const RECONNECT_MS = 3_000;

export type StreamState = 'connecting' | 'open' | 'lost';

/** Calls `onEvents` with what happens at a site from `after` on. Connects again by itself, without gaps. */
export function useEventStream(
  site: string,
  after: number | undefined,
  onEvents: (events: readonly LiveEvent[]) => void,
): StreamState {
  const [state, setState] = useState<StreamState>('connecting');
  const latest = useRef(onEvents);
  latest.current = onEvents;
  useEffect(() => {
    if (after === undefined) return;
    let position = after;
    let arrived: LiveEvent[] = [];
    let source: EventSource | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const connect = () => {
      source = new EventSource(`/api/v1/events?site=${encodeURIComponent(site)}&after=${position}`);
      source.onopen = () => setState('open');
      source.onmessage = ({ data, lastEventId }) => {
        position = Math.max(position, Number(lastEventId));
        if (data !== '') arrived.push(JSON.parse(data) as LiveEvent);
      };
      source.onerror = () => {
        setState('lost');
        // After an answer that is an error, the browser does not try again by itself.
        if (source?.readyState !== EventSource.CLOSED) return;
        clearTimeout(retry);
        retry = setTimeout(connect, RECONNECT_MS);
        // If the session has ended, this leads to the sign-in.
        void dataOf(api.GET('/api/v1/session')).catch(() => {});
      };
    };
    const flush = setInterval(() => {
      if (arrived.length === 0) return;
      const events = arrived;
      arrived = [];
      latest.current(events);
    }, FLUSH_MS);
    connect();
    return () => {
      source?.close();
      clearTimeout(retry);
      clearInterval(flush);
    };
  }, [site, after]);
  return state;
}
