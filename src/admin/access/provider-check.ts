import { Injectable } from '@nestjs/common';
import { messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import { Sealer } from '../../kernel/sealing.js';
import { Postgres } from '../../postgres/postgres.js';
import { identityDigest } from '../../users/external-identity.js';
import { ExternalUsersService } from '../../users/external-users.service.js';
import type { UserRow } from '../../users/user.row.js';
import { UsersService } from '../../users/users.service.js';
import { GrantRefused, SignInProvider } from './sign-in-provider.js';

const GRANT = 'provider_grant';
const MINUTE_MS = 60_000;
/** How old the provider's statement may be. It is asked again before that, so that a short outage of it ends no session. */
const ASKED_AFTER_MS = 10 * MINUTE_MS;
const VALID_MS = 15 * MINUTE_MS;
/** Advisory lock, with the hash of the user: a grant that two instances use at once looks stolen to the provider. */
const CHECK_LOCK = 4845;

/** Asks the sign-in provider whether a user still has its role, for every session and token of the user. */
@Injectable()
export class ProviderCheck {
  private readonly running = new Map<string, Promise<UserRow | undefined>>();

  constructor(
    private readonly provider: SignInProvider,
    private readonly postgres: Postgres,
    private readonly users: UsersService,
    private readonly external: ExternalUsersService,
    private readonly sealer: Sealer,
    private readonly logger: Logger,
  ) {}

  /** The role of this user is decided by the provider. */
  manages({ identity }: Pick<UserRow, 'identity'>): boolean {
    return this.provider.decidesRoles && identity !== null;
  }

  /** After a sign-in at the provider. */
  async remember(id: string, grant: string | undefined): Promise<void> {
    await this.external.confirm(id, grant === undefined ? null : this.sealer.seal(Buffer.from(grant), GRANT));
  }

  /** The user with the role of now; undefined if the provider gives it none, or did not confirm it for 15 minutes. */
  async confirm(user: UserRow): Promise<UserRow | undefined> {
    if (!this.manages(user) || this.isConfirmed(user, ASKED_AFTER_MS)) return user;
    const asked = this.running.get(user.id) ?? this.ask(user.id).finally(() => this.running.delete(user.id));
    this.running.set(user.id, asked);
    try {
      return await asked;
    } catch (error) {
      this.logger.warn('The role of a user could not be checked at the sign-in provider', { reason: messageOf(error) });
      return this.isConfirmed(user, VALID_MS) ? user : undefined;
    }
  }

  private async ask(id: string): Promise<UserRow | undefined> {
    // Not one of the pool: the provider may be slow, and others need those.
    const client = await this.postgres.connect('provider check');
    try {
      await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [CHECK_LOCK, id]);
      const user = await this.users.find(id);
      // Another instance may have asked while this one waited.
      if (!user || user.disabledAt !== null || this.isConfirmed(user, ASKED_AFTER_MS)) return user ?? undefined;
      return await this.askProvider(user);
    } finally {
      // Ends the lock, too.
      await client.end();
    }
  }

  private async askProvider(user: UserRow): Promise<UserRow | undefined> {
    const opened = user.providerGrant ? this.sealer.tryOpen(user.providerGrant, GRANT) : undefined;
    if (!opened) return this.isConfirmed(user, VALID_MS) ? user : undefined;
    try {
      const { identity, grant } = await this.provider.ask(opened.plain.toString());
      if (!user.identity?.equals(identityDigest(identity))) throw new Error('The answer is about another account');
      await this.remember(user.id, grant);
      return await this.external.follow((await this.users.find(user.id)) as UserRow, identity.role);
    } catch (error) {
      if (!(error instanceof GrantRefused)) throw error;
      await this.external.end(user.id, { revokeTokens: false });
      return undefined;
    }
  }

  private isConfirmed({ confirmedAt }: UserRow, withinMs: number): boolean {
    const ageMs = confirmedAt === null ? Number.NaN : this.postgres.clock.nowMs() - confirmedAt.getTime();
    // Not if it is in the future: the clock was set back since.
    return ageMs > -MINUTE_MS && ageMs < withinMs;
  }
}
