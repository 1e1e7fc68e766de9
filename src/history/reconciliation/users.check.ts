import type { ClientBase } from 'pg';
import { USER } from '../../events/user.events.js';
import { counted } from '../../kernel/counted.js';
import type { StreamEvent } from '../../log/event.js';
import { readEvents } from '../../log/event-reader.js';
import { withConnection } from '../../postgres/with-connection.js';
import {
  type AccessState,
  accessDifferences,
  foldAccess,
  type SessionState,
  type TokenState,
  type UserState,
} from '../../users/user-history.js';
import type { Check } from '../verify.js';
import { Violations } from './violations.js';

/** Users, their sessions, tokens, sign-in links and accounts at the sign-in provider are those that the log says: none was added or changed in the database alone. */
export const usersCheck: Check = {
  name: 'users',
  async examine({ postgres }) {
    return withConnection(postgres.connect('verify'), async (client) => {
      // One snapshot, so that a change meanwhile is no difference.
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const events = (await readEvents(client, { categories: [USER] })) as StreamEvent<'user'>[];
      const stored = await readAccess(client);
      const violations = new Violations();
      for (const difference of accessDifferences(foldAccess(events), stored)) violations.add(difference);
      const { users, sessions, tokens } = stored;
      return violations.finding(
        `${counted(users.length, 'user')}, ${counted(sessions.length, 'session')}, ${counted(tokens.length, 'token')}`,
      );
    });
  },
};

async function readAccess(client: ClientBase): Promise<AccessState> {
  const users = await client.query<UserState>(
    `SELECT id, role, sites, disabled_at IS NOT NULL AS disabled,
            encode(sha256(convert_to(password_hash, 'UTF8')), 'hex') AS password,
            encode(sha256(identity || coalesce(identity_salt, '')), 'hex') AS identity FROM cc.users ORDER BY id`,
  );
  const sessions = await client.query<SessionState>(
    `SELECT encode(sha256(hash), 'hex') AS digest, user_id AS "userId", expires_at AS "expiresAt" FROM cc.user_sessions`,
  );
  const tokens = await client.query<TokenState>(
    `SELECT id, owner_id AS "userId", scopes, sites, expires_at AS "expiresAt", revoked_at IS NOT NULL AS revoked,
            encode(sha256(hash), 'hex') AS digest FROM cc.api_tokens ORDER BY id`,
  );
  // That of the first administrator, which belongs to no user, ends with the first user.
  const links = await client.query<{ id: string }>(
    'SELECT DISTINCT user_id AS id FROM cc.sign_in_links WHERE user_id IS NOT NULL AND expires_at > now()',
  );
  const { rows } = links;
  return { users: users.rows, sessions: sessions.rows, tokens: tokens.rows, links: rows.map(({ id }) => id) };
}
