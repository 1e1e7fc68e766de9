import type { AdminMessage } from './admin-process.js';

/** A service that does not answer for as long reads the log before it uses what it knows of a site (`SiteDirectory.isFresh`). */
const APPLIED_WITHIN_MS = 1_000;

/** The end of the channel to the service that a process of its own has. */
export interface ServiceChannel {
  readonly connected: boolean;
  send?(message: AdminMessage, done: (error: Error | null) => void): void;
  on(event: 'message', listener: (message: AdminMessage) => void): unknown;
}

/** Resolves when the service at the other end of the channel has applied the changes of sites that were stored before. */
export function appliedChanges(channel: ServiceChannel, withinMs = APPLIED_WITHIN_MS): () => Promise<void> {
  const waiting = new Map<number, () => void>();
  let last = 0;
  channel.on('message', (message) => {
    if (message.kind === 'changed') waiting.get(message.id)?.();
  });
  return () =>
    new Promise((resolve) => {
      last += 1;
      const id = last;
      const end = () => {
        waiting.delete(id);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(end, withinMs);
      waiting.set(id, end);
      if (channel.connected) channel.send?.({ kind: 'changed', id }, (error) => error && end());
      else end();
    });
}
