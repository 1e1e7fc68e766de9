import { randomBytes } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import { UserError } from '../kernel/errors.js';
import type { CountedByKey, Sealer } from '../kernel/sealing.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { KEY_CHECK, recordKey } from './keys/key-check.js';

const DEDUP = 'dedup';
/** SQL: the site of the first parameter is in this cell, or unknown. */
const NOT_CLOSED = 'NOT EXISTS (SELECT FROM cc.paused_sites p WHERE p.site = $1 AND p.closed)';

/** The owner of a secret: a connection, a source, the webhook that receives totals, or a channel of alerts, which belongs to no site. */
type SecretOwner = ConnectionName | 'outbound' | SourceOwner | ChannelOwner;

/** A source, of which no platform has the name. */
export type SourceOwner = `source-${string}`;

export type ChannelOwner = `alert-${string}`;

interface SealedSecret {
  readonly site: string;
  /** `dedup`, or `<owner>.<field>`. */
  readonly name: string;
  readonly sealed: Buffer;
}

/** A secret as it is sent to the cell that the site moves to, which encrypts it with its own key. */
export interface SiteSecret {
  /** `<owner>.<field>`. */
  readonly name: string;
  readonly value: Buffer;
}

/** Values by field name. */
export type ConnectionSecrets = Readonly<Record<string, string>>;

/** The secrets of sites, encrypted, in the table `cc.secrets`. Events never contain them. */
export class SiteSecrets {
  constructor(
    private readonly pool: Pick<Pool, 'query'>,
    private readonly sealer: Sealer,
  ) {}

  /** Precedes everything that is encrypted: throws if this process has another key than the service, which could not decrypt it. */
  recordKey(): Promise<void> {
    return recordKey(this.pool, this.sealer);
  }

  /** Creates the site's dedup secret if it has none. Of concurrent calls, the first one's secret is stored. */
  async ensureDedupSecret(site: string): Promise<void> {
    await this.recordKey();
    await this.pool.query('INSERT INTO cc.secrets (site, name, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
      site,
      DEDUP,
      this.sealer.seal(randomBytes(32), labelOf({ site, name: DEDUP })),
    ]);
  }

  /** The secret in the digest of a site's dedup keys, so that a dedup claim does not reveal the person. */
  async dedupSecret(site: string): Promise<string> {
    const { rows } = await this.pool.query<SealedSecret>(
      'SELECT site, name, sealed FROM cc.secrets WHERE site = $1 AND name = $2',
      [site, DEDUP],
    );
    if (!rows[0])
      throw new UserError(`Site ${site} has no dedup secret. Restore the table cc.secrets together with the log.`);
    return this.sealer.open(rows[0].sealed, labelOf(rows[0])).toString('hex');
  }

  /** By site, without those that cannot be opened. */
  async dedupSecrets(sites: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await this.pool.query<SealedSecret>(
      'SELECT site, name, sealed FROM cc.secrets WHERE site = ANY ($1) AND name = $2',
      [sites, DEDUP],
    );
    return new Map(
      rows.flatMap((row) => {
        const value = this.sealer.tryOpen(row.sealed, labelOf(row))?.plain;
        return value ? [[row.site, value.toString('hex')] as const] : [];
      }),
    );
  }

  /** For a site that comes from another cell. */
  async replaceDedupSecret(site: string, value: Buffer): Promise<void> {
    await this.replace(site, [{ name: DEDUP, value }]);
  }

  /** All but the dedup secret, for another cell. `unreadable`: names of those that cannot be opened; they have to be set again. */
  async openAll(site: string): Promise<{ secrets: SiteSecret[]; unreadable: string[] }> {
    const { rows } = await this.pool.query<SealedSecret>(
      'SELECT site, name, sealed FROM cc.secrets WHERE site = $1 AND name <> $2 ORDER BY name',
      [site, DEDUP],
    );
    const opened = rows.map((row) => ({ name: row.name, value: this.sealer.tryOpen(row.sealed, labelOf(row))?.plain }));
    return {
      secrets: opened.flatMap(({ name, value }) => (value ? [{ name, value }] : [])),
      unreadable: opened.flatMap(({ name, value }) => (value ? [] : [name])),
    };
  }

  /** Stores secrets from another cell. What that one does not have is deleted, except for the dedup secret. */
  async replaceAll(site: string, secrets: readonly SiteSecret[]): Promise<void> {
    await this.pool.query('DELETE FROM cc.secrets WHERE site = $1 AND name <> ALL ($2)', [
      site,
      [DEDUP, ...secrets.map(({ name }) => name)],
    ]);
    await this.replace(site, secrets);
  }

  private async replace(site: string, secrets: readonly SiteSecret[]): Promise<void> {
    await this.pool.query(
      `INSERT INTO cc.secrets (site, name, sealed) SELECT $1, * FROM unnest($2::text[], $3::bytea[])
       ON CONFLICT (site, name) DO UPDATE SET sealed = excluded.sealed`,
      [
        site,
        secrets.map(({ name }) => name),
        secrets.map(({ name, value }) => this.sealer.seal(value, labelOf({ site, name }))),
      ],
    );
  }

  /** Omits secrets that cannot be opened; they have to be set again. */
  async connectionSecrets(site: string, platform: SecretOwner): Promise<ConnectionSecrets> {
    return (await this.connectionSecretsOf([site])).get(site)?.get(platform) ?? {};
  }

  /** The secrets of all connections of some sites, by site and platform, in one query. */
  async connectionSecretsOf(sites: readonly string[]): Promise<Map<string, Map<string, ConnectionSecrets>>> {
    const { rows } = await this.pool.query<SealedSecret>(
      'SELECT site, name, sealed FROM cc.secrets WHERE site = ANY ($1) AND name <> $2',
      [sites, DEDUP],
    );
    const bySite = new Map<string, Map<string, ConnectionSecrets>>();
    for (const row of rows) {
      const value = this.sealer.tryOpen(row.sealed, labelOf(row))?.plain;
      if (!value) continue;
      const dot = row.name.indexOf('.');
      const [platform, field] = [row.name.slice(0, dot), row.name.slice(dot + 1)];
      const byPlatform = bySite.get(row.site) ?? new Map<string, ConnectionSecrets>();
      byPlatform.set(platform, { ...byPlatform.get(platform), [field]: value.toString() });
      bySite.set(row.site, byPlatform);
    }
    return bySite;
  }

  /** For changes in a transaction. */
  within(client: ClientBase): SiteSecrets {
    return new SiteSecrets(client, this.sealer);
  }

  /** Adds or replaces secrets. In one transaction with the event that names them, because readers of the event load them. */
  async storeConnectionSecrets(site: string, platform: SecretOwner, values: ConnectionSecrets): Promise<void> {
    await this.recordKey();
    await this.write(site, platform, values);
  }

  /**
   * Replaces secrets if one of them still has the expected value. False, and nothing is written, if an operator or another
   * process has changed or deleted it, or if the site is closed: its secrets go to another cell. Does not check the key first: a refresh token that was used may be void.
   */
  async replaceSecrets(
    site: string,
    platform: ConnectionName,
    expected: { readonly field: string; readonly value: string },
    values: ConnectionSecrets,
  ): Promise<boolean> {
    const name = `${platform}.${expected.field}`;
    const secrets = this.seal(site, platform, values);
    for (;;) {
      const { rows } = await this.pool.query<SealedSecret>(
        `SELECT site, name, sealed FROM cc.secrets WHERE site = $1 AND name = $2 AND ${NOT_CLOSED}`,
        [site, name],
      );
      const [row] = rows;
      if (!row || this.sealer.tryOpen(row.sealed, labelOf(row))?.plain.toString() !== expected.value) return false;
      const { rowCount } = await this.pool.query(
        `WITH unchanged AS MATERIALIZED (
           SELECT site FROM cc.secrets WHERE site = $1 AND name = $2 AND sealed = $3 AND ${NOT_CLOSED} FOR UPDATE)
         INSERT INTO cc.secrets (site, name, sealed)
         SELECT u.site, v.name, v.sealed FROM unchanged u CROSS JOIN unnest($4::text[], $5::bytea[]) AS v (name, sealed)
         ON CONFLICT (site, name) DO UPDATE SET sealed = excluded.sealed`,
        [site, name, row.sealed, secrets.map((secret) => secret.name), secrets.map(({ sealed }) => sealed)],
      );
      if (rowCount) return true;
      // Replaced, or encrypted again with another key, since it was read.
    }
  }

  /** In one transaction with the event that no longer names them, because they are needed until then. */
  async deleteConnectionSecrets(
    site: string,
    platform: ConnectionName | SourceOwner | ChannelOwner,
    fields: readonly string[],
  ): Promise<void> {
    // What is known about a refresh token goes with it.
    const all = fields.includes('refresh_token') ? [...fields, 'refresh_state'] : fields;
    const names = all.map((field) => `${platform}.${field}`);
    await this.pool.query('DELETE FROM cc.secrets WHERE site = $1 AND name = ANY ($2)', [site, names]);
  }

  /** Also one that cannot be opened. */
  async hasWebhookSecret(site: string): Promise<boolean> {
    const { rowCount } = await this.pool.query(`SELECT FROM cc.secrets WHERE site = $1 AND name = 'outbound.secret'`, [
      site,
    ]);
    return rowCount === 1;
  }

  /** In one transaction with the event that removes the site: its webhook is disabled before. */
  async deleteWebhookSecrets(site: string): Promise<void> {
    await this.pool.query(`DELETE FROM cc.secrets WHERE site = $1 AND starts_with(name, 'outbound.')`, [site]);
  }

  /** Encrypts with the current key all secrets that only the previous key decrypts. Returns their number. */
  async reencryptAll(): Promise<number> {
    let reencrypted = 0;
    for (const row of await this.all()) {
      const opened = this.sealer.tryOpen(row.sealed, labelOf(row));
      if (opened?.by !== 'previous') continue;
      // Compares the old value, because the secret may have been replaced since it was read.
      const { rowCount } = await this.pool.query(
        'UPDATE cc.secrets SET sealed = $4 WHERE site = $1 AND name = $2 AND sealed = $3',
        [row.site, row.name, row.sealed, this.sealer.seal(opened.plain, labelOf(row))],
      );
      reencrypted += rowCount ?? 0;
    }
    return reencrypted;
  }

  async countByKey(): Promise<CountedByKey> {
    const found: CountedByKey = { current: 0, previous: 0, unreadable: [] };
    for (const row of await this.all()) {
      const opened = this.sealer.tryOpen(row.sealed, labelOf(row));
      if (opened) found[opened.by] += 1;
      else found.unreadable.push(labelOf(row).trim());
    }
    return found;
  }

  private async write(site: string, platform: SecretOwner, values: ConnectionSecrets): Promise<void> {
    const secrets = this.seal(site, platform, values);
    await this.pool.query(
      `INSERT INTO cc.secrets (site, name, sealed) SELECT $1, * FROM unnest($2::text[], $3::bytea[])
       ON CONFLICT (site, name) DO UPDATE SET sealed = excluded.sealed`,
      [site, secrets.map(({ name }) => name), secrets.map(({ sealed }) => sealed)],
    );
  }

  private seal(site: string, platform: SecretOwner, values: ConnectionSecrets): Omit<SealedSecret, 'site'>[] {
    return Object.entries(values).map(([field, value]) => {
      const name = `${platform}.${field}`;
      return { name, sealed: this.sealer.seal(Buffer.from(value), labelOf({ site, name })) };
    });
  }

  /** The key check last: once it is encrypted with the current key, nothing else needs the previous one. */
  private async all(): Promise<SealedSecret[]> {
    const { rows } = await this.pool.query<SealedSecret>(
      'SELECT site, name, sealed FROM cc.secrets ORDER BY name = $1, site, name',
      [KEY_CHECK.name],
    );
    return rows;
  }
}

function labelOf({ site, name }: Omit<SealedSecret, 'sealed'>): string {
  return `${site} ${name}`;
}
