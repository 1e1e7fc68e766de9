import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { UserError } from '../kernel/errors.js';
import type { Sealer } from '../kernel/sealing.js';
import { openSealer } from '../kernel/secret-key.js';
import type { Settings } from '../kernel/settings.js';
import type { PlatformName } from '../platforms/platform.js';

const DEDUP = 'dedup';

/** What a secret belongs to: a connected platform, or the webhook that totals are pushed to. */
type SecretOwner = PlatformName | 'outbound';

interface SealedSecret {
  readonly site: string;
  /** `dedup`, or `<owner>.<field>`. */
  readonly name: string;
  readonly sealed: Buffer;
}

/** By field. */
export type ConnectionSecrets = Readonly<Record<string, string>>;

/** What is secret about a site, sealed, in a table of its own; never in an event. */
export class SiteSecrets {
  constructor(
    private readonly pool: Pool,
    private readonly sealer: Sealer,
    /** While there is a previous key: opens with the present one alone. */
    private readonly presentSealer?: Sealer,
  ) {}

  /** Makes the site's dedup secret if it has none. Whoever comes second finds the first one's. */
  async ensure(site: string): Promise<void> {
    await this.demandSameKey();
    await this.pool.query('INSERT INTO cc.secrets (site, name, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
      site,
      DEDUP,
      this.sealer.seal(randomBytes(32), labelOf({ site, name: DEDUP })),
    ]);
  }

  /** The key under which a site's duplicate keys are made, so that a claim tells nobody whose it is. */
  async dedupSecret(site: string): Promise<string> {
    const { rows } = await this.pool.query<SealedSecret>(
      'SELECT site, name, sealed FROM cc.secrets WHERE site = $1 AND name = $2',
      [site, DEDUP],
    );
    if (!rows[0])
      throw new UserError(`Site ${site} has no secret: restore the table cc.secrets together with the log.`);
    return this.sealer.open(rows[0].sealed, labelOf(rows[0])).toString('hex');
  }

  /** Those that open: one that does not is as good as none, and is given anew. */
  async connectionSecrets(site: string, platform: SecretOwner): Promise<ConnectionSecrets> {
    return (await this.connectionSecretsOf([site])).get(site)?.get(platform) ?? {};
  }

  /** Of all connections of some sites, by site and platform, in one query. */
  async connectionSecretsOf(sites: readonly string[]): Promise<Map<string, Map<string, ConnectionSecrets>>> {
    const { rows } = await this.pool.query<SealedSecret>(
      'SELECT site, name, sealed FROM cc.secrets WHERE site = ANY ($1) AND name <> $2',
      [sites, DEDUP],
    );
    const bySite = new Map<string, Map<string, ConnectionSecrets>>();
    for (const row of rows) {
      const value = openWith(this.sealer, row);
      if (!value) continue;
      const dot = row.name.indexOf('.');
      const [platform, field] = [row.name.slice(0, dot), row.name.slice(dot + 1)];
      const byPlatform = bySite.get(row.site) ?? new Map<string, ConnectionSecrets>();
      byPlatform.set(platform, { ...byPlatform.get(platform), [field]: value.toString() });
      bySite.set(row.site, byPlatform);
    }
    return bySite;
  }

  /** Adds and replaces those that are named. Comes before the event that names them: whoever sees that looks here. */
  async storeConnectionSecrets(site: string, platform: SecretOwner, values: ConnectionSecrets): Promise<void> {
    await this.demandSameKey();
    await this.write(site, platform, values);
  }

  /** Also for a refresh token that the platform exchanged: sealed whatever else there is, since the old one is void. */
  async replaceSecret(site: string, platform: PlatformName, field: string, value: string): Promise<void> {
    await this.write(site, platform, { [field]: value });
  }

  /** Comes after the event that no longer names them: until then they may be needed. */
  async forgetConnectionSecrets(site: string, platform: PlatformName, fields: readonly string[]): Promise<void> {
    const names = fields.map((field) => `${platform}.${field}`);
    await this.pool.query('DELETE FROM cc.secrets WHERE site = $1 AND name = ANY ($2)', [site, names]);
  }

  /** Seals with the present key whatever opens only with the previous one; tells how many that were. */
  async resealAll(): Promise<number> {
    if (!this.presentSealer) return 0;
    let resealed = 0;
    for (const row of await this.all()) {
      if (openWith(this.presentSealer, row)) continue;
      const value = openWith(this.sealer, row);
      if (!value) continue;
      // Only if it is still what was read: somebody may have replaced it meanwhile.
      const { rowCount } = await this.pool.query(
        'UPDATE cc.secrets SET sealed = $4 WHERE site = $1 AND name = $2 AND sealed = $3',
        [row.site, row.name, row.sealed, this.sealer.seal(value, labelOf(row))],
      );
      resealed += rowCount ?? 0;
    }
    return resealed;
  }

  /** How many open with the present key, how many only with the previous one, and which with neither. */
  async survey(): Promise<{ present: number; previous: number; lost: string[] }> {
    const found = { present: 0, previous: 0, lost: [] as string[] };
    for (const row of await this.all()) {
      if (openWith(this.presentSealer ?? this.sealer, row)) found.present += 1;
      else if (openWith(this.sealer, row)) found.previous += 1;
      else found.lost.push(labelOf(row));
    }
    return found;
  }

  private async write(site: string, platform: SecretOwner, values: ConnectionSecrets): Promise<void> {
    const secrets = Object.entries(values).map(([field, value]) => {
      const name = `${platform}.${field}`;
      return { name, sealed: this.sealer.seal(Buffer.from(value), labelOf({ site, name })) };
    });
    await this.pool.query(
      `INSERT INTO cc.secrets (site, name, sealed) SELECT $1, * FROM unnest($2::text[], $3::bytea[])
       ON CONFLICT (site, name) DO UPDATE SET sealed = excluded.sealed`,
      [site, secrets.map(({ name }) => name), secrets.map(({ sealed }) => sealed)],
    );
  }

  private async all(): Promise<SealedSecret[]> {
    const { rows } = await this.pool.query<SealedSecret>(
      'SELECT site, name, sealed FROM cc.secrets ORDER BY site, name',
    );
    return rows;
  }

  /** A secret sealed with another key than the service's could not be opened there: so ours must open what is there. */
  private async demandSameKey(): Promise<void> {
    const { rows } = await this.pool.query<SealedSecret>(
      'SELECT site, name, sealed FROM cc.secrets WHERE name = $1 LIMIT 1',
      [DEDUP],
    );
    if (rows[0]) this.sealer.open(rows[0].sealed, labelOf(rows[0]));
  }
}

export function openSecrets(pool: Pool, sealer: Sealer, settings: Settings): SiteSecrets {
  const { secretKeyPrevious } = settings;
  const presentSealer = secretKeyPrevious && openSealer({ ...settings, secretKeyPrevious: undefined });
  return new SiteSecrets(pool, sealer, presentSealer);
}

function openWith(sealer: Sealer, secret: SealedSecret): Buffer | undefined {
  try {
    return sealer.open(secret.sealed, labelOf(secret));
  } catch {
    return undefined;
  }
}

function labelOf({ site, name }: Omit<SealedSecret, 'sealed'>): string {
  return `${site} ${name}`;
}
