import { backoffMs } from './backoff.js';
import { StreamMessages } from './stream-messages.js';

/** The service sends its position every second: what is silent for longer is a connection that no one serves. */
const SILENT_MAX_MS = 2_000;

/** What is sent at most when a connection begins: the page of a tab that was hidden for an hour does not need all of it. */
const MISSED_MAX = 1_000;

/** `full`: the service follows as many streams for the user as it does, and not another one. */
export type StreamState = 'connecting' | 'open' | 'lost' | 'full';

interface StreamListener {
  onState(state: StreamState): void;
  /** The data of events, and the position up to which they were sent: without an event a sign of life. */
  onEvents(events: readonly string[], position: number): void;
  /** The service does not send everything up to a position that was missed: it was too much. */
  onSkipped(until: number): void;
  /** No answer, one that is an error, or nothing more for too long. */
  onFailed(): void;
}

/**
 * Follows the events of a site from a position on, until the returned function is called. Connects again by itself at the
 * position reached, with growing pauses. `fetch` rather than `EventSource`, which does not show the service's signs of life.
 */
export function followEvents(
  { site, types = [] }: { readonly site: string; readonly types?: readonly string[] | undefined },
  after: number,
  listener: StreamListener,
  open: (url: string, signal: AbortSignal) => Promise<Response> = (url, signal) => fetch(url, { signal }),
): () => void {
  const stopped = new AbortController();
  const selection = [['site', site], ...types.map((type) => ['type', type])];
  let position = after;
  let failures = 0;
  let isFull = false;

  const connect = async () => {
    const given = new AbortController();
    let silence: ReturnType<typeof setTimeout> | undefined;
    const expectSign = () => {
      clearTimeout(silence);
      silence = setTimeout(() => given.abort(), SILENT_MAX_MS);
    };
    const stop = () => given.abort();
    stopped.signal.addEventListener('abort', stop);
    expectSign();
    isFull = false;
    const query = new URLSearchParams([...selection, ['missed', String(MISSED_MAX)], ['after', String(position)]]);
    try {
      const response = await open(`/api/v1/events?${query}`, given.signal);
      isFull = response.status === 429;
      if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
      await read(response.body, expectSign);
    } finally {
      given.abort();
      clearTimeout(silence);
      stopped.signal.removeEventListener('abort', stop);
    }
  };

  const read = async (body: ReadableStream<Uint8Array>, onSign: () => void) => {
    const messages = new StreamMessages();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (let part = await reader.read(); !part.done && !stopped.signal.aborted; part = await reader.read()) {
      onSign();
      // Not with the answer's headers: a proxy may send them and nothing else.
      failures = 0;
      listener.onState('open');
      const arrived = messages.read(decoder.decode(part.value, { stream: true }));
      const events: string[] = [];
      for (const { event, id, data } of arrived) {
        // Earlier than what was read if the database was replaced by its backup.
        position = event === 'skipped' ? (id ?? position) : Math.max(position, id ?? 0);
        if (event === 'skipped') listener.onSkipped(position);
        else if (data !== undefined) events.push(data);
      }
      listener.onEvents(events, position);
    }
  };

  const run = async () => {
    while (!stopped.signal.aborted) {
      await connect().catch(() => !stopped.signal.aborted && listener.onFailed());
      if (stopped.signal.aborted) return;
      listener.onState(isFull ? 'full' : 'lost');
      failures += 1;
      await pause(backoffMs(failures), stopped.signal);
    }
  };
  void run();
  return () => stopped.abort();
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
