import type { Client } from 'pg';
import type { Postgres } from '../postgres/postgres.js';

/** Reads with a connection of its own, which is closed at the end or as soon as the signal is aborted. */
export async function withClient<Result>(
  postgres: Postgres,
  purpose: string,
  signal: AbortSignal | undefined,
  read: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await postgres.connect(purpose);
  // Without a listener an error of the closed connection would end the process.
  client.on('error', () => {});
  // Ends a query in progress with an error.
  const close = () => void client.end().catch(() => {});
  signal?.addEventListener('abort', close, { once: true });
  try {
    signal?.throwIfAborted();
    return await read(client);
  } finally {
    signal?.removeEventListener('abort', close);
    await client.end();
  }
}
