import { isDeepStrictEqual } from 'node:util';
import { type ConnectionEvent, type PlatformConnection } from '../events/site.events.js';
import type { StoredEvent } from '../log/event.js';
import type { Connection, PlatformName, Settings } from '../platforms/platform.js';

/** A site's account at a platform, folded from the site's events. Its secrets lie elsewhere, sealed. */
export interface SiteConnection {
  readonly platform: PlatformName;
  /** `parked`: the platform refuses the credentials. `paused` with a reason: it wants nothing any more. */
  readonly state: 'active' | 'paused' | 'parked';
  readonly reason?: string;
  readonly settings: Settings;
  readonly secretNames: readonly string[];
  readonly endpoint?: string;
  /** Of the event that last changed the settings. */
  readonly position: number;
  /** Every version of the settings, oldest first: what came in earlier is spelled as it was to be spelled then. */
  readonly versions: readonly SettingsVersion[];
  /** When it came into its state, or was disconnected. */
  readonly since: string;
  /** Kept, because what came in before may still be asked about. */
  readonly disconnected?: true;
}

export interface SettingsVersion {
  readonly position: number;
  readonly settings: Settings;
}

/** The settings that counted at a position; undefined before there were any. */
export function settingsAt({ versions }: SiteConnection, position: number): Settings | undefined {
  return versions.findLast((version) => version.position <= position)?.settings;
}

export function evolveConnections(
  connections: readonly SiteConnection[],
  event: ConnectionEvent,
  stored: Pick<StoredEvent, 'position' | 'time'>,
): readonly SiteConnection[] {
  const before = connections.find(({ platform }) => platform === event.data.platform);
  const after = evolveConnection(before, event, stored);
  if (!before) return after ? [...connections, after] : connections;
  return connections.map((connection) => (connection === before && after ? after : connection));
}

function evolveConnection(
  before: SiteConnection | undefined,
  event: ConnectionEvent,
  { position, time }: Pick<StoredEvent, 'position' | 'time'>,
): SiteConnection | undefined {
  if (event.type === 'site.platform_connected.v1') return connected(before, event.data, position, time);
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
  { platform, settings, secretNames, endpoint }: PlatformConnection,
  position: number,
  time: string,
): SiteConnection {
  const staysAsItIs = before && !before.disconnected && !isMendedByConnecting(before);
  const earlier = before?.versions ?? [];
  const last = earlier.at(-1);
  const isNewVersion = !last || !isDeepStrictEqual(last.settings, settings);
  return {
    platform,
    state: staysAsItIs ? before.state : 'active',
    settings,
    secretNames,
    ...(endpoint !== undefined && { endpoint }),
    position: isNewVersion ? position : last.position,
    versions: isNewVersion ? [...earlier, { position, settings }] : earlier,
    since: staysAsItIs ? before.since : time,
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

/** What the platform brought about ends when the connection is given again; what an operator said stands until he resumes. */
function isMendedByConnecting({ state, reason }: SiteConnection): boolean {
  return state === 'parked' || (state === 'paused' && reason !== undefined);
}

/** The event that brings the connection to `next`; undefined when it is there already. */
export function connecting(
  platform: PlatformName,
  before: SiteConnection | undefined,
  next: Connection,
  secretsChanged: boolean,
): ConnectionEvent | undefined {
  const { settings, secrets, endpoint } = next;
  const secretNames = Object.keys(secrets).sort();
  const data = { platform, settings, secretNames, ...(endpoint !== undefined && { endpoint }) };
  const isThere =
    before &&
    !before.disconnected &&
    !isMendedByConnecting(before) &&
    !secretsChanged &&
    before.endpoint === endpoint &&
    isDeepStrictEqual([before.settings, before.secretNames], [settings, secretNames]);
  return isThere ? undefined : { type: 'site.platform_connected.v1', data };
}

export function disconnecting({ platform, disconnected }: SiteConnection): ConnectionEvent | undefined {
  return disconnected ? undefined : { type: 'site.platform_disconnected.v1', data: { platform } };
}

/** An operator's pause takes the place of the platform's, not the other way round. */
export function pausing({ platform, ...before }: SiteConnection, reason?: string): ConnectionEvent | undefined {
  const isPaused = before.state === 'paused' && (before.reason === undefined || reason !== undefined);
  if (before.disconnected || isPaused) return undefined;
  return { type: 'site.platform_paused.v1', data: { platform, ...(reason !== undefined && { reason }) } };
}

/** Of all that are told so at once, the first parks it. One that is paused has no need of it. */
export function parking({ platform, ...before }: SiteConnection, reason: string): ConnectionEvent | undefined {
  if (before.disconnected || before.state !== 'active') return undefined;
  return { type: 'site.platform_parked.v1', data: { platform, reason } };
}

export function resuming({ platform, ...before }: SiteConnection): ConnectionEvent | undefined {
  if (before.disconnected || before.state === 'active') return undefined;
  return { type: 'site.platform_resumed.v1', data: { platform } };
}
