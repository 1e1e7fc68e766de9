import { useEffect, useRef, useState } from 'preact/hooks';
import { api, dataOf } from './api.js';
import type { LiveEvent } from './live-events.js';

/** Events are shown in batches, so that hundreds in a second cost a few renders. */
const FLUSH_MS = 250;
/** Browsers slow down the timers of hidden tabs: what waits is then shown before it grows. */
const WAITING_MAX = 500;
const RECONNECT_MS = 3_000;

export type StreamState = 'connecting' | 'open' | 'lost';

export interface StreamOptions {
  readonly site: string;
  /** Undefined: events of all types. */
  readonly types: readonly string[] | undefined;
  /** The stream starts after this position, once it is known. */
  readonly after: number | undefined;
  onEvents(events: readonly LiveEvent[]): void;
}

/** Calls `onEvents` with what happens at a site. Connects again by itself, without gaps. */
export function useEventStream({ site, types, after, onEvents }: StreamOptions): StreamState {
  const [state, setState] = useState<StreamState>('connecting');
  const latest = useRef(onEvents);
  latest.current = onEvents;
  const ofTypes = (types ?? []).map((type) => `&type=${encodeURIComponent(type)}`).join('');
  useEffect(() => {
    if (after === undefined) return;
    setState('connecting');
    let position = after;
    let waiting: LiveEvent[] = [];
    let source: EventSource | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      if (waiting.length === 0) return;
      const events = waiting;
      waiting = [];
      latest.current(events);
    };
    const connect = () => {
      source = new EventSource(`/api/v1/events?site=${encodeURIComponent(site)}&after=${position}${ofTypes}`);
      source.onopen = () => setState('open');
      source.onmessage = ({ data, lastEventId }) => {
        position = Math.max(position, Number(lastEventId));
        if (data === '') return;
        waiting.push(JSON.parse(data) as LiveEvent);
        if (waiting.length >= WAITING_MAX) flush();
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
    const timer = setInterval(flush, FLUSH_MS);
    connect();
    return () => {
      source?.close();
      clearTimeout(retry);
      clearInterval(timer);
    };
  }, [site, ofTypes, after]);
  return state;
}
