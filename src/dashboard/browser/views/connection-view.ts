import type { Schemas } from '../api.js';
import type { Tone } from '../format.js';

export type Connection = Schemas['Connection'];
export type Platform = Schemas['Platform'];
export type PlatformField = Platform['fields'][number];

/** The names of those that are connected. */
export function connectedNames(connections: readonly Pick<Connection, 'connected' | 'platform'>[] = []): string[] {
  return connections.filter(({ connected }) => connected).map(({ platform }) => platform);
}

/** The state of a connection in words. */
export function connectionState({
  connected,
  state,
  needsReconnection,
}: Pick<Connection, 'connected' | 'state' | 'needsReconnection'>): [Tone, string] {
  if (!connected) return ['plain', 'Not connected'];
  if (needsReconnection) return ['bad', 'Needs reconnection'];
  if (state === 'parked') return ['bad', 'Needs attention'];
  if (state === 'paused') return ['warn', 'Paused'];
  return ['ok', 'Connected'];
}

/** The connection of this name: a stored one, or else another one of a platform, which has a name of its own. */
export function connectionNamed(
  name: string | undefined,
  connections: readonly Connection[],
  platforms: readonly Pick<Platform, 'platform'>[],
): Connection | undefined {
  if (name === undefined) return undefined;
  const [kind, own = ''] = name.split(':', 2);
  const isNew = own !== '' && platforms.some(({ platform }) => platform === kind);
  return (
    connections.find(({ platform }) => platform === name) ??
    (isNew ? { platform: name, connected: false, settings: {} } : undefined)
  );
}

/** Whether a secret is stored. A list of connections names secrets apart from the settings. */
export function isStored({ settings, secrets }: Pick<Connection, 'settings' | 'secrets'>, name: string): boolean {
  return settings[name] === true || secrets?.includes(name) === true;
}

/** What a person can do, without the commands of the command line: here buttons do the same. */
export function withoutCommands(text: string | undefined): string | undefined {
  const [step = ''] = (text ?? '').split(/\s*"(?:cc )?platforms /, 1);
  return step.trim() === '' ? undefined : step.trim();
}

/**
 * The worst first, then connected platforms, then the others; each in the order of a receipt. `found`: what needs attention at a
 * connection, the worst first.
 */
export function orderedConnections<Item extends Pick<Connection, 'connected' | 'state' | 'platform'>>(
  items: readonly Item[],
  found: (connection: string) => readonly Pick<Schemas['AttentionItem'], 'severity'>[] = () => [],
): Item[] {
  const rank = ({ connected, state, platform }: Item) => {
    if (!connected) return 3;
    const severity = state === 'parked' ? 'error' : (found(platform)[0]?.severity ?? (state === 'paused' && 'warning'));
    return severity === 'error' ? 0 : severity === 'warning' ? 1 : 2;
  };
  return [...items].sort((one, other) => rank(one) - rank(other));
}

/** The settings to send: what was typed, and an empty text for what was removed. */
export function changedSettings(
  fields: readonly Pick<PlatformField, 'name' | 'secret'>[],
  current: Connection['settings'],
  typed: Readonly<Record<string, string>>,
): Record<string, string> {
  const changes: Record<string, string> = {};
  for (const { name, secret } of fields) {
    const value = typed[name]?.trim();
    if (value === undefined) continue;
    // An empty field keeps a secret, which is never shown.
    if (secret ? value !== '' : value !== (current[name] ?? '')) changes[name] = value;
  }
  return changes;
}

/** `pixel_id` as a label; `event.purchase` as "Event purchase". */
export function fieldTitle(name: string): string {
  const words = name.replaceAll(/[_.]/g, ' ');
  return (words.charAt(0).toUpperCase() + words.slice(1)).replace(/\b(id|api|url|oauth)\b/gi, (word) =>
    word.toLowerCase() === 'oauth' ? 'OAuth' : word.toUpperCase(),
  );
}
