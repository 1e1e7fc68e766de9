import type { Sealer } from '../kernel/sealing.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { Settings } from '../platforms/platform.js';
import type { Postgres } from '../postgres/postgres.js';
import { generateSecretToken, hashSecretToken } from '../users/secret-token.js';

/** How long a person has at the platform. */
export const SIGN_IN_MINUTES = 10;
/** How long the tokens wait for the settings of a new connection. */
const GRANTED_MINUTES = 60;
/** Sign-ins that one user may have started: the oldest are given up when more are started. */
const PER_USER_MAX = 20;
/** Longer than the requests of an exchange take: after this time the process that made them has ended. */
const EXCHANGE_MAX_SECONDS = 60;

/**
 * `interrupted`: the process ended between the code and the tokens, or while it gave them to the connection. `expired`: it was not
 * used in time.
 */
export const SIGN_IN_STATUSES = [
  'started',
  'exchanging',
  'granted',
  'connecting',
  'connected',
  'failed',
  'interrupted',
  'expired',
] as const;
type SignInStatus = (typeof SIGN_IN_STATUSES)[number];

/** In place of what was sealed, once it is not needed any more. */
const NOTHING = Buffer.alloc(0);

/** Who started a sign-in, and for what. */
interface SignInOwner {
  readonly userId: string;
  readonly site: string;
  readonly connection: ConnectionName;
}

/** Where the sign-in was started. It continues only there. */
export interface SignInBrowser {
  /** Digest of the session's cookie. */
  readonly sessionHash: Buffer;
  readonly browserHash: Buffer;
}

/** What is sealed while the person is at the platform. */
export interface SignInDetails {
  readonly verifier: string;
  readonly redirectUri: string;
  readonly endpoint?: string | undefined;
}

/** What is sealed once the platform has given tokens. */
export interface GrantedAccess {
  readonly endpoint?: string | undefined;
  readonly accessToken: string;
  /** Settings and secrets of a connection. */
  readonly settings: Settings;
}

export interface SignIn extends SignInOwner {
  readonly id: string;
  readonly status: SignInStatus;
  readonly reason?: string | undefined;
  readonly expiresAt: Date;
}

interface Row {
  readonly id: string;
  readonly user_id: string;
  readonly session_hash: Buffer;
  readonly site: string;
  readonly connection: ConnectionName;
  readonly status: SignInStatus;
  readonly reason: string | null;
  readonly sealed: Buffer;
  readonly expires_at: Date;
}

/** Sign-ins at platforms, in the table `cc.platform_sign_ins`. */
export class PlatformSignIns {
  constructor(
    private readonly postgres: Postgres,
    private readonly sealer: Sealer,
  ) {}

  async start(owner: SignInOwner, { sessionHash, browserHash }: SignInBrowser, details: SignInDetails) {
    const id = uuidv7();
    const { text: state, hash: stateHash } = generateSecretToken();
    const { rows } = await this.postgres.pool.query<{ expires_at: Date }>(
      `WITH given_up AS (
         DELETE FROM platform_sign_ins WHERE id IN (
           SELECT id FROM platform_sign_ins WHERE user_id = $2 ORDER BY id DESC OFFSET $10))
       INSERT INTO platform_sign_ins
         (id, user_id, session_hash, site, connection, state_hash, browser_hash, status, sealed, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, 'started', $8, now() + make_interval(mins => $9))
       RETURNING expires_at`,
      [
        ...[id, owner.userId, sessionHash, owner.site, owner.connection, stateHash, browserHash],
        ...[this.seal(id, details), SIGN_IN_MINUTES, PER_USER_MAX - 1],
      ],
    );
    return { id, state, expiresAt: (rows[0] as { expires_at: Date }).expires_at };
  }

  /**
   * Takes a sign-in whose person has come back from the platform. Once: of two requests with the same state one gets it.
   * Undefined if it was not started in this browser, or is over.
   */
  async take(state: string, browserHash: Buffer) {
    const { rows } = await this.postgres.pool.query<Row>(
      `UPDATE platform_sign_ins SET status = 'exchanging', changed_at = clock_timestamp()
        WHERE state_hash = $1 AND browser_hash = $2 AND status = 'started' AND expires_at > now()
       RETURNING *`,
      [hashSecretToken(state), browserHash],
    );
    const [row] = rows;
    const details = row && this.open<SignInDetails>(row);
    return row && details && { ...toSignIn(row), sessionHash: row.session_hash, details };
  }

  async fail(id: string, reason: string): Promise<void> {
    await this.postgres.pool.query(
      `UPDATE platform_sign_ins SET status = 'failed', reason = $2, sealed = $3, changed_at = clock_timestamp() WHERE id = $1`,
      [id, reason, NOTHING],
    );
  }

  async grant(id: string, granted: GrantedAccess): Promise<void> {
    await this.postgres.pool.query(
      `UPDATE platform_sign_ins SET status = 'granted', sealed = $2, changed_at = clock_timestamp(),
              expires_at = now() + make_interval(mins => $3)
        WHERE id = $1 AND status = 'exchanging'`,
      [id, this.seal(id, granted), GRANTED_MINUTES],
    );
  }

  async find(id: string, owner: SignInOwner): Promise<SignIn | undefined> {
    const row = await this.read(id, owner);
    return row && toSignIn(row);
  }

  /** The tokens of a sign-in, until a connection uses them. */
  async granted(id: string, owner: SignInOwner): Promise<GrantedAccess | undefined> {
    const row = await this.read(id, owner);
    return row?.status === 'granted' ? this.open<GrantedAccess>(row) : undefined;
  }

  /**
   * Gives the tokens to a connection, once: a platform may have replaced them since. If the connection is refused, the next
   * attempt gets them again.
   */
  async use<Result>(
    id: string,
    owner: SignInOwner,
    connect: (granted: GrantedAccess) => Promise<Result>,
  ): Promise<Result | undefined> {
    const { rows } = await this.postgres.pool.query<Row>(
      `UPDATE platform_sign_ins SET status = 'connecting', changed_at = clock_timestamp()
        WHERE id = $1 AND user_id = $2 AND site = $3 AND connection = $4 AND status = 'granted' AND expires_at > now()
       RETURNING *`,
      [id, owner.userId, owner.site, owner.connection],
    );
    const [row] = rows;
    const granted = row && this.open<GrantedAccess>(row);
    if (!granted) return undefined;
    const result = await connect(granted).catch(async (error: unknown) => {
      await this.endConnecting(id, 'granted');
      throw error;
    });
    // If this fails, the sign-in is shown as interrupted: the tokens are used, and must not be again.
    await this.endConnecting(id, 'connected');
    return result;
  }

  /** Deletes tokens that were not used in time, and a while later the sign-in, so that its page can say so. */
  async clean(): Promise<void> {
    await this.postgres.pool.query(
      'UPDATE platform_sign_ins SET sealed = $1 WHERE expires_at <= now() AND sealed <> $1',
      [NOTHING],
    );
    await this.postgres.pool.query(
      'DELETE FROM platform_sign_ins WHERE expires_at < now() - make_interval(mins => $1)',
      [GRANTED_MINUTES],
    );
  }

  private async endConnecting(id: string, status: 'granted' | 'connected'): Promise<void> {
    await this.postgres.pool.query(
      `UPDATE platform_sign_ins SET status = $2, changed_at = clock_timestamp(),
              sealed = CASE WHEN $2 = 'connected' THEN $3 ELSE sealed END
        WHERE id = $1 AND status = 'connecting'`,
      [id, status, NOTHING],
    );
  }

  private async read(id: string, { userId, site, connection }: SignInOwner): Promise<Row | undefined> {
    const { rows } = await this.postgres.pool.query<Row>(
      `SELECT id, user_id, session_hash, site, connection, reason, sealed, expires_at,
              CASE WHEN status IN ('exchanging', 'connecting') AND changed_at < clock_timestamp() - make_interval(secs => $5)
                   THEN 'interrupted'
                   WHEN status IN ('started', 'granted') AND expires_at <= now() THEN 'expired'
                   ELSE status END AS status
         FROM platform_sign_ins WHERE id = $1 AND user_id = $2 AND site = $3 AND connection = $4`,
      [id, userId, site, connection, EXCHANGE_MAX_SECONDS],
    );
    return rows[0];
  }

  private seal(id: string, details: SignInDetails | GrantedAccess): Buffer {
    return this.sealer.seal(Buffer.from(JSON.stringify(details)), labelOf(id));
  }

  /** Undefined if the key has changed since. */
  private open<Details>({ id, sealed }: Row): Details | undefined {
    const opened = this.sealer.tryOpen(sealed, labelOf(id));
    return opened && (JSON.parse(opened.plain.toString()) as Details);
  }
}

function toSignIn({ id, user_id, site, connection, status, reason, expires_at }: Row): SignIn {
  return { id, userId: user_id, site, connection, status, reason: reason ?? undefined, expiresAt: expires_at };
}

function labelOf(id: string): string {
  return `platform sign-in ${id}`;
}
