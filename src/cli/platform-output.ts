import { redactUrl } from '../kernel/redact-url.js';
import type { Platform, PlatformName } from '../platforms/platform.js';
import type { SiteConnection } from '../sites/connection.js';
import type { Site } from '../sites/site.js';
import { card } from './output.js';

interface ConnectionDocument {
  readonly platform: PlatformName;
  readonly connected: boolean;
  readonly state?: SiteConnection['state'];
  readonly reason?: string;
  /** A secret is shown as `true`. */
  readonly settings: Readonly<Record<string, string | true>>;
  readonly endpoint?: string;
  readonly since?: string;
  /** Only if it was just generated. */
  readonly secret?: string;
}

export function platformDocument({ name, fields }: Platform) {
  return {
    platform: name,
    fields: fields.map(({ name, secret = false, required = false }) => ({ name, secret, required })),
  };
}

interface ListedConnection extends ConnectionDocument {
  readonly fields: ReturnType<typeof platformDocument>['fields'];
  /** Names of the secrets that are set. */
  readonly secrets?: readonly string[];
  /** What a person has to do before conversions are sent again. */
  readonly next?: string;
}

/** A site's connection to a platform, without its secrets. */
export function listedConnection(
  platform: Platform,
  { host, connections }: Pick<Site, 'host' | 'connections'>,
): ListedConnection {
  const { fields } = platformDocument(platform);
  const connection = connections.find((candidate) => candidate.platform === platform.name);
  if (!connection || connection.disconnected)
    return { platform: platform.name, connected: false, settings: {}, fields };
  const { settings, secretNames, endpoint = platform.baseUrl(settings) } = connection;
  const next = nextStep(platform, connection, host);
  return {
    ...connectionDocument(connection),
    settings,
    endpoint: redactUrl(endpoint),
    secrets: secretNames,
    ...(next !== undefined && { next }),
    fields,
  };
}

/** What a person can do about a connection that sends nothing; undefined if it does. */
function nextStep(
  { name, fix }: Pick<Platform, 'name' | 'fix'>,
  { state, reason = '', secretNames }: Pick<SiteConnection, 'state' | 'reason' | 'secretNames'>,
  host: string,
): string | undefined {
  if (state === 'active') return undefined;
  const resume = `"platforms resume ${name} --site ${host}"`;
  if (state === 'paused') return `${resume} resumes sending.`;
  const known =
    fix?.(reason) ?? `Fix the credentials (${secretNames.join(', ')}) or the account that the reason is about.`;
  const connect = `"platforms connect ${name} --site ${host} --set <name>=<value>"`;
  return `${known} ${connect} changes settings and resumes sending; after a fix at the platform, ${resume} does.`;
}

export function connectionDocument(connection: SiteConnection, generatedSecret?: string): ConnectionDocument {
  const { platform, state, reason, settings, secretNames, endpoint, since, disconnected } = connection;
  // A redacted address is shown, not that it is sealed as well.
  const hidden = secretNames.filter((name) => settings[name] === undefined);
  const secrets = Object.fromEntries(hidden.map((name) => [name, true] as const));
  return {
    platform,
    connected: !disconnected,
    ...(!disconnected && { state }),
    ...(reason !== undefined && { reason }),
    settings: { ...settings, ...(!disconnected && secrets) },
    ...(endpoint !== undefined && { endpoint: redactUrl(endpoint) }),
    since,
    ...(generatedSecret !== undefined && { secret: generatedSecret }),
  };
}

export function connectionCard(document: ConnectionDocument): string {
  const { platform, state, reason, since, settings, endpoint, secret } = document;
  return card({
    platform,
    state: state ?? 'disconnected',
    ...(reason !== undefined && { reason }),
    since,
    settings: settingsText(settings),
    ...(endpoint !== undefined && { endpoint }),
    ...(secret !== undefined && { secret }),
  });
}

export function settingsText(settings: ConnectionDocument['settings']): string[] {
  return Object.entries(settings).map(([name, value]) => (value === true ? `${name} (secret)` : `${name}=${value}`));
}
