import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { networkOf } from '../kernel/addresses.js';
import { normaliseEmail } from '../kernel/email.js';
import { TooManyRequests } from '../kernel/errors.js';
import { Postgres } from '../postgres/postgres.js';

const WINDOW_MINUTES = 15;
/** Attempts within the window. Anyone can use up that of an account, so it does not bind known browsers and sessions. */
const LIMITS = { accountFromNetwork: 10, network: 50, account: 200, browser: 10, session: 10 };

interface Budget {
  readonly key: Buffer;
  readonly limit: number;
}

/** What an attempt counts against. The first budget is that of the person alone. */
export type Attempt = readonly [Budget, ...Budget[]];

/** By a browser in which the user has not signed in. */
export function byNetwork(email: string, address: string | undefined): Attempt {
  const [account, network] = [normaliseEmail(email), networkOf(address)];
  return [
    { key: digest('both', account, network), limit: LIMITS.accountFromNetwork },
    { key: digest('network', network), limit: LIMITS.network },
    { key: digest('account', account), limit: LIMITS.account },
  ];
}

export function byBrowser(id: string): Attempt {
  return [{ key: digest('browser', id), limit: LIMITS.browser }];
}

/** By a signed-in user. Limited, because a stolen session must not find out the password. */
export function bySession(cookie: string): Attempt {
  return [{ key: digest('session', cookie), limit: LIMITS.session }];
}

/** Limits attempts to sign in, on all instances together. */
@Injectable()
export class SignInThrottle {
  constructor(private readonly postgres: Postgres) {}

  /** Checks a password, unless there were too many attempts. One that could not be checked is no attempt. */
  async limit<Result>(attempt: Attempt, check: () => Promise<Result>): Promise<Result> {
    const waitS = await this.admit(attempt);
    if (waitS > 0) {
      const minutes = Math.ceil(waitS / 60);
      throw new TooManyRequests(`Too many attempts to sign in. Try again in ${minutes} min.`, waitS);
    }
    const result = await check().catch(async (error: unknown) => {
      await this.takeBack(attempt);
      throw error;
    });
    if (result) await this.forget(attempt);
    return result;
  }

  /**
   * Counts an attempt before its password is checked, so that many at once do not pass together. Returns how many seconds to wait,
   * 0 if it may be checked. Refused attempts are not counted: one network could otherwise use up the limit of an account, and fill the table.
   */
  async admit(attempt: Attempt): Promise<number> {
    const { rows } = await this.postgres.reserved.query<{ wait: number }>(
      `WITH old AS (DELETE FROM sign_in_attempts WHERE at < now() - make_interval(mins => $3)),
            counted AS (
              SELECT coalesce(max(least(ceil(extract(epoch FROM oldest.at - now()) + $3 * 60), $3 * 60)), 0)::integer AS wait
                FROM unnest($1::bytea[], $2::integer[]) AS keys (key, "limit")
               CROSS JOIN LATERAL (SELECT a.at FROM sign_in_attempts a
                                    WHERE a.key = keys.key AND a.at > now() - make_interval(mins => $3)
                                    ORDER BY a.at DESC OFFSET keys."limit" - 1 LIMIT 1) AS oldest),
            added AS (INSERT INTO sign_in_attempts (key) SELECT unnest($1::bytea[]) FROM counted WHERE wait = 0)
       SELECT wait FROM counted`,
      [keysOf(attempt), attempt.map(({ limit }) => limit), WINDOW_MINUTES],
    );
    return (rows[0] as { wait: number }).wait;
  }

  /**
   * After a successful sign-in: the attempts of this person do not count any more. Of the attempts of the network and of the account
   * one is taken back, not all: an attacker who knows one password could otherwise go on guessing others.
   */
  async forget(attempt: Attempt): Promise<void> {
    await this.takeBack(attempt);
    await this.postgres.reserved.query('DELETE FROM sign_in_attempts WHERE key = $1', [attempt[0].key]);
  }

  /** Deletes attempts that do not count any more; the next attempt would, too. */
  async clean(): Promise<void> {
    await this.postgres.pool.query('DELETE FROM cc.sign_in_attempts WHERE at < now() - make_interval(mins => $1)', [
      WINDOW_MINUTES,
    ]);
  }

  private async takeBack(attempt: Attempt): Promise<void> {
    await this.postgres.reserved.query(
      `DELETE FROM sign_in_attempts WHERE ctid = ANY (ARRAY(
         SELECT newest.ctid FROM unnest($1::bytea[]) AS keys (key)
          CROSS JOIN LATERAL (SELECT ctid FROM sign_in_attempts a WHERE a.key = keys.key
                               ORDER BY a.at DESC LIMIT 1 FOR UPDATE SKIP LOCKED) AS newest))`,
      [keysOf(attempt)],
    );
  }
}

function keysOf(attempt: Attempt): Buffer[] {
  return attempt.map(({ key }) => key);
}

function digest(...parts: string[]): Buffer {
  return hash('sha256', JSON.stringify(parts), 'buffer');
}
