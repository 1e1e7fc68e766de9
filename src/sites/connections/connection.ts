import { isDeepStrictEqual } from 'node:util';
import { type ConnectionEvent, type PlatformConnection } from '../../events/site.events.js';
import type { StoredEvent } from '../../log/event.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { canonicalSettings } from '../../platforms/event-mapping.js';
import type { Connection, Settings } from '../../platforms/platform.js';

/** A site's connection to a platform, folded from the site's events. Its secrets are stored encrypted in `cc.secrets`. */
export interface SiteConnection {
  /** The connection's name: the platform's, or `<platform>:<name>`. */
  readonly platform: ConnectionName;
  /** `parked`: the platform rejects the credentials or the settings. `paused` with a reason: the receiver asked for no more requests. */
  readonly state: 'active' | 'paused' | 'parked';
  readonly reason?: string;
  readonly settings: Settings;
  readonly secretNames: readonly string[];
  readonly endpoint?: string;
  /** Version of the site's stream that last changed the settings. */
  readonly version: number;
  /** All versions of the settings, oldest first. A conversion's payload is built with the settings of its arrival. */
  readonly versions: readonly SettingsVersion[];
  /** Time of the last change of `state`, or of the disconnection. */
  readonly since: string;
  /** A disconnected connection stays in the list, because earlier conversions still refer to its settings. */
  readonly disconnected?: true;
}

export interface SettingsVersion {
  /** Of the site's stream. */
  readonly version: number;
  /** Of its event, in the log that conversions of versions before 0.3 refer to; absent if that cannot be. */
  readonly position?: number | undefined;
  readonly settings: Settings;
  /** The platform had been disconnected before. */
  readonly reconnected?: true;
}

/** Whether deliveries wait for an operator, or for the receiver, before they are attempted. */
export function isHeldBack({ state, disconnected }: Pick<SiteConnection, 'state' | 'disconnected'>): boolean {
  return state !== 'active' && !disconnected;
}

/** As of which the settings of a payload apply: a version of the site's stream, or the position that versions before 0.3 recorded. */
export interface SettingsAsOf {
  readonly siteVersion?: number | undefined;
  readonly settings?: number | undefined;
}

/** Undefined if an event names none. */
export function asOfIn({ siteVersion, settings }: SettingsAsOf): SettingsAsOf | undefined {
  return siteVersion === undefined && settings === undefined ? undefined : { siteVersion, settings };
}

/** Whether the settings were changed after what the payload was built with. */
export function isLater({ version, position }: SettingsVersion, { siteVersion, settings = 0 }: SettingsAsOf): boolean {
  return siteVersion === undefined ? position === undefined || position > settings : version > siteVersion;
}

/** The settings in force; undefined before the first ones. */
export function settingsAt({ versions }: SiteConnection, asOf: SettingsAsOf): Settings | undefined {
  return versions.findLast((version) => !isLater(version, asOf))?.settings;
}

/** In a cell that the site has moved to, events have other positions than those that earlier versions recorded. */
export function withPositions(connection: SiteConnection, positions: readonly number[]): SiteConnection {
  const versions = connection.versions.map((each) => ({ ...each, position: positions[each.version - 1] }));
  return { ...connection, versions };
}

type StoredIn = Pick<StoredEvent, 'version' | 'time'> & { readonly position: number | undefined };

export function evolveConnections(
  connections: readonly SiteConnection[],
  event: ConnectionEvent,
  stored: StoredIn,
): readonly SiteConnection[] {
  const before = connections.find(({ platform }) => platform === event.data.platform);
  const after = evolveConnection(before, event, stored);
  if (!before) return after ? [...connections, after] : connections;
  return connections.map((connection) => (connection === before && after ? after : connection));
}

function evolveConnection(
  before: SiteConnection | undefined,
  event: ConnectionEvent,
  stored: StoredIn,
): SiteConnection | undefined {
  const { time } = stored;
  if (event.type === 'site.platform_connected.v1') return connected(before, event.data, stored);
  if (!before || before.disconnected) return before;
  switch (event.type) {
    case 'site.platform_disconnected.v1':
      return { ...inState(before, 'active', time), disconnected: true };
    case 'site.platform_paused.v1':
      return inState(before, 'paused', time, event.data.reason);
    case 'site.platform_parked.v1':
      return inState(before, 'parked', time, event.data.reason);
    case 'site.platform_resumed.v1':
      return inState(before, 'active', time);
  }
}

function connected(
  before: SiteConnection | undefined,
  { platform, settings: stored, secretNames, endpoint, reconnected }: PlatformConnection,
  { version, position, time }: StoredIn,
): SiteConnection {
  const settings = canonicalSettings(stored);
  const keepsState = before && !before.disconnected && !isReactivatedByConnecting(before);
  const earlier = before?.versions ?? [];
  const last = earlier.at(-1);
  const isNewVersion = !last || !isDeepStrictEqual(last.settings, settings);
  return {
    platform,
    state: keepsState ? before.state : 'active',
    settings,
    secretNames,
    ...(endpoint !== undefined && { endpoint }),
    version: isNewVersion ? version : last.version,
    versions: isNewVersion
      ? [...earlier, { version, position, settings, ...(reconnected && { reconnected }) }]
      : earlier,
    since: keepsState ? before.since : time,
  };
}

function inState(
  { reason: _, ...connection }: SiteConnection,
  state: SiteConnection['state'],
  since: string,
  reason?: string,
): SiteConnection {
  return { ...connection, state, since, ...(reason !== undefined && { reason }) };
}

/** Connecting again ends a state that the platform caused. A pause by an operator lasts until the operator resumes. */
function isReactivatedByConnecting({ state, reason }: SiteConnection): boolean {
  return state === 'parked' || (state === 'paused' && reason !== undefined);
}

/** The event that changes the connection to `next`; undefined if nothing changes. */
export function connectPlatform(
  platform: ConnectionName,
  before: SiteConnection | undefined,
  next: Connection,
  secretsChanged: boolean,
): ConnectionEvent | undefined {
  const { settings, secrets, endpoint } = next;
  const secretNames = Object.keys(secrets).sort();
  const reconnected = before?.disconnected;
  const data = {
    platform,
    settings,
    secretNames,
    ...(endpoint !== undefined && { endpoint }),
    ...(reconnected && { reconnected }),
  };
  const isUnchanged =
    before &&
    !before.disconnected &&
    !isReactivatedByConnecting(before) &&
    !secretsChanged &&
    before.endpoint === endpoint &&
    isDeepStrictEqual([before.settings, before.secretNames], [settings, secretNames]);
  return isUnchanged ? undefined : { type: 'site.platform_connected.v1', data };
}

export function disconnectPlatform({ platform, disconnected }: SiteConnection): ConnectionEvent | undefined {
  return disconnected ? undefined : { type: 'site.platform_disconnected.v1', data: { platform } };
}

/** An operator's pause replaces a pause by the platform, not the other way round. */
export function pauseConnection({ platform, ...before }: SiteConnection, reason?: string): ConnectionEvent | undefined {
  const isPaused = before.state === 'paused' && (before.reason === undefined || reason !== undefined);
  if (before.disconnected || isPaused) return undefined;
  return { type: 'site.platform_paused.v1', data: { platform, ...(reason !== undefined && { reason }) } };
}

/** Concurrent rejections park a connection once. A paused connection is not parked. */
export function parkConnection({ platform, ...before }: SiteConnection, reason: string): ConnectionEvent | undefined {
  if (before.disconnected || before.state !== 'active') return undefined;
  return { type: 'site.platform_parked.v1', data: { platform, reason } };
}

export function resumeConnection({ platform, ...before }: SiteConnection): ConnectionEvent | undefined {
  if (before.disconnected || before.state === 'active') return undefined;
  return { type: 'site.platform_resumed.v1', data: { platform } };
}
