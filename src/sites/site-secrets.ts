import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { UserError } from '../kernel/errors.js';
import type { Sealer } from '../kernel/sealing.js';

const DEDUP = 'dedup';

/** What is secret about a site, sealed, in a table of its own; never in an event. */
export class SiteSecrets {
  constructor(
    private readonly pool: Pool,
    private readonly sealer: Sealer,
  ) {}

  /** Makes the site's dedup secret if it has none. Whoever comes second finds the first one's. */
  async ensure(site: string): Promise<void> {
    await this.pool.query('INSERT INTO cc.secrets (site, name, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
      site,
      DEDUP,
      this.sealer.seal(randomBytes(32), `${site} ${DEDUP}`),
    ]);
  }

  /** The key under which a site's duplicate keys are made, so that a claim tells nobody whose it is. */
  async dedupSecret(site: string): Promise<string> {
    const { rows } = await this.pool.query<{ sealed: Buffer }>(
      'SELECT sealed FROM cc.secrets WHERE site = $1 AND name = $2',
      [site, DEDUP],
    );
    if (!rows[0])
      throw new UserError(`Site ${site} has no secret: restore the table cc.secrets together with the log.`);
    return this.sealer.open(rows[0].sealed, `${site} ${DEDUP}`).toString('hex');
  }
}
