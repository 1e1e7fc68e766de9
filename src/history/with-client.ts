import type { Client } from 'pg';
import { closeSocket } from '../postgres/database-hosts.js';
import type { Postgres } from '../postgres/postgres.js';

/** A server that is frozen does not confirm the end of a connection. */
const END_WITHIN_MS = 1_000;

/** Reads with a connection of its own, which is closed at the end or as soon as the signal is aborted. */
export async function withClient<Result>(
  connect: () => Promise<Client>,
  signal: AbortSignal | undefined,
  read: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await connect();
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
    const closing = setTimeout(() => closeSocket(client), END_WITHIN_MS);
    await client.end().finally(() => clearTimeout(closing));
  }
}

/** Reads much, where it may lag. */
export function withReadClient<Result>(
  postgres: Postgres,
  purpose: string,
  signal: AbortSignal | undefined,
  read: (client: Client) => Promise<Result>,
): Promise<Result> {
  return withClient(
    () => postgres.connectToRead(purpose),
    signal,
    async (client) => {
      try {
        return await read(client);
      } catch (error) {
        if (!signal?.aborted) postgres.standby?.failed(client, error);
        throw error;
      }
    },
  );
}
