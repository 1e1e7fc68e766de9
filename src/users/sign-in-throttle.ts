import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { networkOf } from '../kernel/addresses.js';
import { normaliseEmail } from '../kernel/email.js';
import { Postgres } from '../postgres/postgres.js';

const WINDOW_MINUTES = 15;
/** Attempts within the window. The limit of an account is high: otherwise anyone could keep its owner out. */
const LIMITS = { accountFromNetwork: 10, network: 50, account: 200 };

/** Limits attempts to sign in, on all instances together. */
@Injectable()
export class SignInThrottle {
  constructor(private readonly postgres: Postgres) {}

  /**
   * Counts an attempt before its password is checked, so that many at once do not pass together. Returns false if there were
   * too many. Refused attempts are not counted: one network could otherwise use up the limit of an account, and fill the table.
   */
  async admit(email: string, address: string | undefined): Promise<boolean> {
    const keys = keysOf(email, address);
    const { rows } = await this.postgres.reserved.query<{ admitted: boolean }>(
      `WITH old AS (DELETE FROM sign_in_attempts WHERE at < now() - make_interval(mins => $3)),
            counted AS (
              SELECT bool_and(earlier < "limit") AS admitted
                FROM unnest($1::bytea[], $2::integer[]) AS keys (key, "limit")
               CROSS JOIN LATERAL (SELECT count(*) AS earlier FROM sign_in_attempts a
                                    WHERE a.key = keys.key AND a.at > now() - make_interval(mins => $3)) AS attempts),
            added AS (INSERT INTO sign_in_attempts (key) SELECT unnest($1::bytea[]) FROM counted WHERE admitted)
       SELECT admitted FROM counted`,
      [keys.map(([key]) => key), keys.map(([, limit]) => limit), WINDOW_MINUTES],
    );
    return rows[0]?.admitted ?? false;
  }

  /**
   * After a successful sign-in: the attempts of this person do not count any more. Of the attempts of the network and of the account
   * one is taken back, not all: an attacker who knows one password could otherwise go on guessing others.
   */
  async forget(email: string, address: string | undefined): Promise<void> {
    const [both, ...others] = keysOf(email, address).map(([key]) => key);
    await this.postgres.reserved.query(
      `WITH own AS (DELETE FROM sign_in_attempts WHERE key = $1)
       DELETE FROM sign_in_attempts WHERE ctid = ANY (ARRAY(
         SELECT newest.ctid FROM unnest($2::bytea[]) AS keys (key)
          CROSS JOIN LATERAL (SELECT ctid FROM sign_in_attempts a WHERE a.key = keys.key
                               ORDER BY a.at DESC LIMIT 1 FOR UPDATE SKIP LOCKED) AS newest))`,
      [both, others],
    );
  }
}

function keysOf(email: string, address: string | undefined): [Buffer, number][] {
  const [account, network] = [normaliseEmail(email), networkOf(address)];
  return [
    [digest('both', account, network), LIMITS.accountFromNetwork],
    [digest('network', network), LIMITS.network],
    [digest('account', account), LIMITS.account],
  ];
}

function digest(...parts: string[]): Buffer {
  return hash('sha256', JSON.stringify(parts), 'buffer');
}
