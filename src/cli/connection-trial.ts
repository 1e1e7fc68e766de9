import { AccessTokens } from '../delivery/access-tokens.js';
import { type ConnectionTest, testConnection } from '../delivery/connection-test.js';
import { PlatformClient } from '../delivery/platform-client.js';
import { UserError } from '../kernel/errors.js';
import type { Connection, Platform } from '../platforms/platform.js';
import type { Site } from '../sites/site.js';
import { connectionOf } from './platform-argument.js';
import type { Opened } from './session.js';

/** Tries a site's connection out with what is stored of it, as the service would call the platform. */
export async function tryConnection(opened: Opened, site: Site, platform: Platform): Promise<ConnectionTest> {
  const { settings, secrets, sites } = opened;
  const connection = await storedConnection(opened, site, platform);
  const client = new PlatformClient(settings.outboundAllowPrivate);
  const tokens = new AccessTokens(client, {
    replaceRefreshToken: (host, { name }, token) => secrets.replaceSecret(host, name, 'refresh_token', token),
    reload: async (host, platform) => storedConnection(opened, await sites.get(host), platform),
  });
  try {
    return await testConnection(site.host, platform, connection, client, tokens);
  } finally {
    await client.close();
  }
}

async function storedConnection({ secrets }: Opened, site: Site, platform: Platform): Promise<Connection> {
  const { settings, secretNames, endpoint } = connectionOf(site, platform);
  const stored = await secrets.connectionSecrets(site.host, platform.name);
  const lost = secretNames.filter((name) => stored[name] === undefined);
  if (lost.length > 0) {
    const again = lost.map((name) => `--set ${name}=…`).join(' ');
    throw new UserError(
      `SECRET_KEY does not open ${lost.join(' and ')} of ${platform.name}. Set the key they were sealed with, or give them again: "platforms connect ${platform.name} --site ${site.host} ${again}".`,
    );
  }
  return { settings, secrets: stored, endpoint };
}

/** What to do about a connection that was tried out; undefined when nothing is. */
export function adviceOn({ platform, ok, status }: ConnectionTest, site: Site): string | undefined {
  const { host, connections } = site;
  const connect = `"platforms connect ${platform} --site ${host} --set <name>=<value>"`;
  if (status === 'unauthorized') return `Give it new credentials with ${connect}.`;
  if (!ok) return `"platforms list --site ${host}" shows how it is set, ${connect} changes it.`;
  const state = connections.find((connection) => connection.platform === platform)?.state;
  return state === 'active'
    ? undefined
    : `It is ${state}: "platforms resume ${platform} --site ${host}" sends what was kept.`;
}
