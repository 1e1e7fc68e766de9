import { PLATFORM_NAMES } from './platform.js';

/** Names a connection of a site: the platform's name for the first one of a platform, `<platform>:<name>` for every other. */
export type ConnectionName = string;

const OWN_NAME = '[a-z0-9][a-z0-9_-]{0,31}';
/** Pattern of a whole connection name, for schemas. The platform may be a defined one, of which only its connections tell. */
export const CONNECTION_NAME_PATTERN = `^[a-z][a-z0-9_]{0,31}(:${OWN_NAME})?$`;

const CONNECTION_NAME = new RegExp(CONNECTION_NAME_PATTERN);
const WHOLE_OWN_NAME = new RegExp(`^${OWN_NAME}$`);

export function isConnectionName(text: string): boolean {
  return CONNECTION_NAME.test(text);
}

/** Whether it can follow the colon of a connection name. */
export function isOwnName(text: string): boolean {
  return WHOLE_OWN_NAME.test(text);
}

/** The platform that a connection is of, as its name says. A name of a later version may be of a platform that does not exist here. */
export function platformNameOf(connection: string): string {
  const end = connection.indexOf(':');
  return end === -1 ? connection : connection.slice(0, end);
}

/** In the order of a receipt: by platform, the one without a name of its own first, then by name. */
export function compareConnections(one: ConnectionName, other: ConnectionName): number {
  const byPlatform = rank(one) - rank(other);
  if (byPlatform !== 0) return byPlatform;
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Those of defined platforms come last. */
function rank(connection: ConnectionName): number {
  const place = (PLATFORM_NAMES as readonly string[]).indexOf(platformNameOf(connection));
  return place === -1 ? PLATFORM_NAMES.length : place;
}
