import type { Pool } from 'pg';
import { UserError } from '../../kernel/errors.js';
import type { Sealer } from '../../kernel/sealing.js';

/** A row of `cc.secrets` that belongs to no site: a known text, encrypted with the key that the database was first used with. */
export const KEY_CHECK = { site: '', name: 'key-check' } as const;
const LABEL = `${KEY_CHECK.site} ${KEY_CHECK.name}`;
const KNOWN_TEXT = Buffer.from('clean-conversions');

/** The service could not open what is encrypted with another key: a process with one is refused before it writes anything. */
export class WrongSecretKey extends UserError {
  constructor() {
    super(
      'SECRET_KEY is not the key that this database was first used with. Nothing was changed. Set the key of the service ' +
        '(without DATABASE_URL: restore the file secret-key in DATA_DIR); to change the key, also set the one before as ' +
        'SECRET_KEY_PREVIOUS.',
    );
  }
}

/** Throws if the database belongs to another key. Writes nothing: a database that holds no encrypted value accepts any key. */
export async function requireMatchingKey(pool: Pick<Pool, 'query'>, sealer: Sealer): Promise<void> {
  await hasMatchingCheck(pool, sealer);
}

/** The same, and makes the key the one of the database if it has none. Of concurrent calls, the first one's key is stored. */
export async function recordKey(pool: Pick<Pool, 'query'>, sealer: Sealer): Promise<void> {
  if (await hasMatchingCheck(pool, sealer)) return;
  await pool.query('INSERT INTO cc.secrets (site, name, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
    KEY_CHECK.site,
    KEY_CHECK.name,
    sealer.seal(KNOWN_TEXT, LABEL),
  ]);
  await hasMatchingCheck(pool, sealer);
}

/**
 * False if no check is stored, as by earlier versions: then the key must open what they encrypted. Secrets of connections do not
 * count, because one that does not open can be set again.
 */
async function hasMatchingCheck(pool: Pick<Pool, 'query'>, sealer: Sealer): Promise<boolean> {
  const { rows } = await pool.query<{ label: string; sealed: Buffer }>(
    `SELECT site || ' ' || name AS label, sealed FROM cc.secrets WHERE site = $1 OR name = 'dedup'`,
    [KEY_CHECK.site],
  );
  const check = rows.find(({ label }) => label === LABEL);
  const opens = (check ? [check] : rows).every(({ label, sealed }) => sealer.tryOpen(sealed, label));
  if (!opens) throw new WrongSecretKey();
  return check !== undefined;
}
