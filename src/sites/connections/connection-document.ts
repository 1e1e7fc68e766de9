import { redactUrl } from '../../kernel/redact-url.js';
import { type ConnectionName, compareConnections } from '../../platforms/connection-name.js';
import { DEFINITION, digestOf } from '../../platforms/defined/compile.js';
import { PLATFORM_NAMES, type Platform, type Settings } from '../../platforms/platform.js';
import type { Site } from '../site.js';
import type { SiteConnection } from './connection.js';
import { platformIn } from './named-connection.js';

export interface ConnectionDocument {
  readonly platform: ConnectionName;
  readonly connected: boolean;
  readonly state?: SiteConnection['state'];
  readonly reason?: string;
  /** A secret is shown as `true`. */
  readonly settings: Readonly<Record<string, string | true>>;
  /** Settings that new connections to the platform have by default. This one keeps the default of its time. */
  readonly newDefaults?: Readonly<Record<string, string>>;
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
  /** The platform refuses it, and a sign-in there gives it new credentials. */
  readonly needsReconnection?: true;
}

/** The connections of a site without their secrets, and the platforms that are not connected, in the order of a receipt. */
export function listedConnections(site: Pick<Site, 'host' | 'connections'>): ListedConnection[] {
  const connected = site.connections.filter(({ disconnected }) => !disconnected);
  const names = new Set<string>([...PLATFORM_NAMES, ...connected.map(({ platform }) => platform)]);
  return [...names].sort(compareConnections).flatMap((name) => {
    const platform = platformIn({ connections: connected }, name);
    return platform ? [listedConnection(platform, name, site)] : [];
  });
}

function listedConnection(
  platform: Platform,
  name: ConnectionName,
  { host, connections }: Pick<Site, 'host' | 'connections'>,
): ListedConnection {
  const { fields } = platformDocument(platform);
  const connection = connections.find((candidate) => candidate.platform === name);
  if (!connection || connection.disconnected) return { platform: name, connected: false, settings: {}, fields };
  const { settings, secretNames, endpoint = platform.baseUrl(settings) } = connection;
  const next = nextStep(platform, connection, host);
  return {
    ...connectionDocument(connection),
    settings: shownSettings(settings),
    endpoint: redactUrl(endpoint),
    secrets: secretNames,
    ...(next !== undefined && { next }),
    ...(needsReconnection(platform, connection) && { needsReconnection: true }),
    ...newDefaults(platform, connection),
    fields,
  };
}

function needsReconnection(
  { authorization, misconfigured }: Platform,
  { state, reason = '', settings }: SiteConnection,
): boolean {
  if (state !== 'parked' || !authorization || misconfigured?.(reason)) return false;
  return authorization.problem?.(settings) === undefined;
}

/** What a person can do about a connection that sends nothing; undefined if it does. */
function nextStep(
  { fix }: Pick<Platform, 'fix'>,
  { platform: name, state, reason = '', secretNames }: SiteConnection,
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

/** Settings that a new connection would have and this one, which keeps the defaults of its time, lacks. */
function newDefaults({ initialSettings = {} }: Platform, { settings }: SiteConnection) {
  const lacking = Object.entries(initialSettings).filter(([name]) => settings[name] === undefined);
  return lacking.length > 0 && { newDefaults: Object.fromEntries(lacking) };
}

/** A definition is shown by its digest. */
function shownSettings({ [DEFINITION]: definition, ...settings }: Settings): Settings {
  return definition === undefined ? settings : { ...settings, [DEFINITION]: digestOf(definition) };
}

export function connectionDocument(connection: SiteConnection, generatedSecret?: string): ConnectionDocument {
  const { platform, state, reason, settings, secretNames, endpoint, since, disconnected } = connection;
  // A redacted address is shown, not that it is encrypted as well.
  const hidden = secretNames.filter((name) => settings[name] === undefined);
  const secrets = Object.fromEntries(hidden.map((name) => [name, true] as const));
  return {
    platform,
    connected: !disconnected,
    ...(!disconnected && { state }),
    ...(reason !== undefined && { reason }),
    settings: { ...shownSettings(settings), ...(!disconnected && secrets) },
    ...(endpoint !== undefined && { endpoint: redactUrl(endpoint) }),
    since,
    ...(generatedSecret !== undefined && { secret: generatedSecret }),
  };
}
