import type { Client } from 'pg';

/** Works with a connection of its own, which is closed at the end: a transaction that an error leaves open is rolled back. */
export async function withConnection<Result>(
  connecting: Promise<Client>,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await connecting;
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
