import { UserError } from '../../kernel/errors.js';
import type { Settings } from '../../kernel/settings/settings.js';
import type { AccountOptions } from '../../platforms/account-options.js';
import type { Connection } from '../../platforms/platform.js';
import type { Postgres } from '../../postgres/postgres.js';
import { connectionOf, type NamedConnection } from '../../sites/connections/named-connection.js';
import { isClosed, type Site } from '../../sites/site.js';
import { SiteMoved } from '../../sites/site-repository.js';
import type { SiteSecrets } from '../../sites/site-secrets.js';
import { AccessTokens } from './access-tokens.js';
import { type ListingOptions, listConnection, listingClient } from './account-listing.js';
import { type ConnectionTest, testConnection } from './connection-test.js';
import { PlatformClient } from './platform-client.js';
import { DatabaseTokenStore } from './token-store.js';

export interface StoredConnectionDependencies {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly secrets: SiteSecrets;
}

/** Tests a site's stored connection with the same requests as the service. */
export async function testStoredConnection(
  dependencies: StoredConnectionDependencies,
  site: Site,
  target: NamedConnection,
): Promise<ConnectionTest> {
  const { settings, postgres } = dependencies;
  const connection = await loadConnection(dependencies, site, target);
  const client = new PlatformClient(settings.outboundAllowPrivate);
  // The token of a running service would not show whether the credentials work.
  const tokens = tokensOf(dependencies, client, connection, { shared: false });
  try {
    return await testConnection({ site: site.host, ...target }, connection, client, tokens, postgres.clock.nowMs());
  } finally {
    await client.close();
  }
}

/** Lists what the account of a site's stored connection has. */
export async function listStoredConnection(
  dependencies: StoredConnectionDependencies,
  site: Site,
  target: NamedConnection,
  options: Pick<ListingOptions, 'account' | 'app'>,
): Promise<AccountOptions> {
  const { settings, postgres } = dependencies;
  const connection = await loadConnection(dependencies, site, target);
  const client = listingClient(settings.outboundAllowPrivate);
  const tokens = tokensOf(dependencies, client, connection, { shared: true });
  try {
    const nowMs = postgres.clock.nowMs();
    return await listConnection({ site: site.host, ...target }, connection, client, tokens, { ...options, nowMs });
  } finally {
    await client.close();
  }
}

function tokensOf(
  { postgres, secrets }: StoredConnectionDependencies,
  client: PlatformClient,
  connection: Connection,
  options: { readonly shared: boolean },
): AccessTokens {
  return new AccessTokens(client, new DatabaseTokenStore(postgres, secrets, async () => connection), options);
}

async function loadConnection(
  { secrets }: Pick<StoredConnectionDependencies, 'secrets'>,
  site: Site,
  { name }: NamedConnection,
): Promise<Connection> {
  // A refresh token that is used here may be void in the cell that has the site now.
  if (isClosed(site)) throw new SiteMoved(site);
  const { settings, secretNames, endpoint } = connectionOf(site, name);
  const stored = await secrets.connectionSecrets(site.host, name);
  const unreadable = secretNames.filter((secret) => stored[secret] === undefined);
  if (unreadable.length > 0) {
    const options = unreadable.map((secret) => `--set ${secret}=…`).join(' ');
    throw new UserError(
      `SECRET_KEY does not open ${unreadable.join(' and ')} of ${name}. Use the key that sealed them, or set them again: "platforms connect ${name} --site ${site.host} ${options}".`,
    );
  }
  return { settings, secrets: stored, endpoint };
}
