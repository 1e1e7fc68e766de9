import type { ConnectionTest } from '../delivery/connections/connection-test.js';
import type { Site } from '../sites/site.js';

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
