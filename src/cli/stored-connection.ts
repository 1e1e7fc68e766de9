import { AccessTokens } from '../delivery/access-tokens.js';
import { type ConnectionTest, testConnection } from '../delivery/connection-test.js';
import { PlatformClient } from '../delivery/platform-client.js';
import { DatabaseTokenStore } from '../delivery/token-store.js';
import { UserError } from '../kernel/errors.js';
import type { Connection } from '../platforms/platform.js';
import type { Site } from '../sites/site.js';
import { connectionOf, type NamedConnection } from './platform-argument.js';
import type { CliDependencies } from './session.js';

/** Tests a site's stored connection with the same requests as the service. */
export async function testStoredConnection(
  dependencies: CliDependencies,
  site: Site,
  target: NamedConnection,
): Promise<ConnectionTest> {
  const { settings, secrets, postgres } = dependencies;
  const connection = await loadConnection(dependencies, site, target);
  const client = new PlatformClient(settings.outboundAllowPrivate);
  const store = new DatabaseTokenStore(postgres, secrets, async () => connection);
  // The token of a running service would not show whether the credentials work.
  const tokens = new AccessTokens(client, store, { shared: false });
  try {
    return await testConnection({ site: site.host, ...target }, connection, client, tokens, postgres.clock.nowMs());
  } finally {
    await client.close();
  }
}

async function loadConnection(
  { secrets }: CliDependencies,
  site: Site,
  { name }: NamedConnection,
): Promise<Connection> {
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

/** The operator's next step after a connection test; undefined if there is none. */
export function adviceAfterTest({ platform, ok, status }: ConnectionTest, site: Site): string | undefined {
  const { host, connections } = site;
  const connect = `"platforms connect ${platform} --site ${host} --set <name>=<value>"`;
  if (status === 'unauthorized') return `Set new credentials with ${connect}.`;
  if (!ok) return `"platforms list --site ${host}" shows its settings, ${connect} changes them.`;
  const state = connections.find((connection) => connection.platform === platform)?.state;
  return state === 'active'
    ? undefined
    : `It is ${state}: "platforms resume ${platform} --site ${host}" sends the queued conversions.`;
}
