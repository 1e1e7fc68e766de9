import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import { keyIdOf } from '../kernel/jws.js';
import type { Sealer } from '../kernel/sealing.js';
import type { Queryable } from '../log/event-reader.js';
import { transaction } from '../postgres/transaction.js';
import { recordKey } from '../sites/keys/key-check.js';

/** The owner of signing keys in `cc.secrets`: no host is empty, so no site's secrets are mixed with them. */
const OWNER = '';

export interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  /** PEM. */
  readonly publicKey: string;
}

/** Ed25519 keys that sign checkpoints. The private key is encrypted with SECRET_KEY, like every other secret. */
export class SigningKeys {
  constructor(
    private readonly pool: Pool,
    private readonly sealer: Sealer,
  ) {}

  /** The key that signs. Generated on first use: of concurrent calls, the first one's key is stored. */
  async active(): Promise<SigningKey> {
    const stored = await this.readActive();
    if (stored) return stored;
    await this.store(generateKey(), true);
    return (await this.readActive()) as SigningKey;
  }

  /**
   * The key that signs, read in a transaction: it is not replaced before that ends. So what an earlier key signed in its
   * transaction is in the log before the first checkpoint of a later key.
   */
  async activeUntilCommit(client: Queryable): Promise<SigningKey> {
    const key = await this.readActive(client, 'FOR SHARE OF k');
    if (!key) throw new Error('The signing key is being replaced');
    return key;
  }

  /** Stores a new key that does not sign yet. */
  async prepare(): Promise<SigningKey> {
    const key = generateKey();
    await this.store(key, false);
    return key;
  }

  /**
   * From now on `next` signs, and the private key of the one before is deleted: nothing can be signed with it later. False if
   * `previous` was replaced meanwhile: then the private key of `next` is deleted instead.
   */
  async replace(previous: SigningKey, next: SigningKey): Promise<boolean> {
    return transaction(this.pool, async (client) => {
      // Waits for a rotation that is replacing it, and then finds it inactive.
      const { rowCount } = await client.query('UPDATE cc.signing_keys SET active = false WHERE id = $1 AND active', [
        previous.id,
      ]);
      const isReplaced = rowCount === 1;
      if (isReplaced) await client.query('UPDATE cc.signing_keys SET active = true WHERE id = $1', [next.id]);
      const unused = isReplaced ? previous : next;
      await client.query('DELETE FROM cc.secrets WHERE site = $1 AND name = $2', [OWNER, nameOf(unused.id)]);
      return isReplaced;
    });
  }

  private async readActive(source: Queryable = this.pool, lock = ''): Promise<SigningKey | undefined> {
    const { rows } = await source.query<{ id: string; public_key: string; sealed: Buffer | null }>(
      `SELECT k.id, k.public_key, s.sealed FROM cc.signing_keys k
         LEFT JOIN cc.secrets s ON s.site = $1 AND s.name = 'signing.' || k.id WHERE k.active ${lock}`,
      [OWNER],
    );
    const row = rows[0];
    if (!row) return undefined;
    const der = this.sealer.open(row.sealed ?? Buffer.alloc(0), labelOf(row.id));
    return {
      id: row.id,
      publicKey: row.public_key,
      privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }),
    };
  }

  private async store({ id, privateKey, publicKey }: SigningKey, active: boolean): Promise<void> {
    const der = privateKey.export({ format: 'der', type: 'pkcs8' });
    await recordKey(this.pool, this.sealer);
    await this.pool.query(
      `WITH stored AS (
         INSERT INTO cc.signing_keys (id, public_key, active) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id)
       INSERT INTO cc.secrets (site, name, sealed) SELECT $4, $5, $6 FROM stored`,
      [id, publicKey, active, OWNER, nameOf(id), this.sealer.seal(der, labelOf(id))],
    );
  }
}

/** Every public key that this database knows, in PEM, oldest first. */
export async function readPublicKeys(source: Queryable): Promise<string[]> {
  const { rows } = await source.query<{ public_key: string }>(
    'SELECT public_key FROM cc.signing_keys ORDER BY created_at',
  );
  return rows.map(({ public_key }) => public_key);
}

/**
 * Whether a key is old enough to have signed a checkpoint, which follows it at once. By the absolute age, because a clock that was set back
 * must not hide it.
 */
export async function hasSettledKey(source: Queryable): Promise<boolean> {
  const { rows } = await source.query<{ settled: boolean }>(
    `SELECT EXISTS (SELECT FROM cc.signing_keys
      WHERE clock_timestamp() - created_at NOT BETWEEN interval '0' AND interval '1 minute') AS settled`,
  );
  return rows[0]?.settled ?? false;
}

/** The key that is trusted if none is given. Empty before the first checkpoint. */
export async function readFirstKey(source: Queryable): Promise<string[]> {
  return (await readPublicKeys(source)).slice(0, 1);
}

function generateKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { id: keyIdOf(publicKey), privateKey, publicKey: publicKey.export({ format: 'pem', type: 'spki' }) as string };
}

function nameOf(id: string): string {
  return `signing.${id}`;
}

/** As `SiteSecrets` labels the rows of `cc.secrets`, so that it can encrypt them again when SECRET_KEY changes. */
function labelOf(id: string): string {
  return `${OWNER} ${nameOf(id)}`;
}
