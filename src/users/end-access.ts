import type { ClientBase } from 'pg';
import type { UserEvent } from '../events/user.events.js';
import { deleteSessions } from './sessions.service.js';

export const VALID_TOKEN = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())';

/** What a user can still enter with, apart from the password and tokens. */
export async function endAccess(client: ClientBase, userId: string): Promise<void> {
  await deleteSessions(client, userId);
  await client.query('DELETE FROM sign_in_links WHERE user_id = $1', [userId]);
}

/** Returns the events that record it. */
export async function revokeTokensOf(client: ClientBase, userId: string): Promise<UserEvent[]> {
  const { rows } = await client.query<{ id: string }>(
    `UPDATE api_tokens SET revoked_at = now() WHERE owner_id = $1 AND ${VALID_TOKEN} RETURNING id`,
    [userId],
  );
  return rows.map(({ id: tokenId }) => ({ type: 'user.token_revoked.v1', data: { tokenId } }));
}
