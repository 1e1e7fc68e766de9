import { type ConnectionName, platformNameOf } from '../../platforms/connection-name.js';
import { DEFINITION, versionOf } from '../../platforms/defined/compile.js';
import type { Connection, Platform, Settings } from '../../platforms/platform.js';
import { isLater, type SettingsAsOf, type SiteConnection } from '../../sites/connections/connection.js';

/** The account or pixel that a payload was built for, without the credentials for it. */
export interface Account {
  readonly key: string;
  readonly settings: Settings;
}

/** The key if no setting names the account. */
const NOT_NAMED = '[]';
/** By the settings that name it: they belong to one connection, and every conversion asks for it. */
const accounts = new WeakMap<Settings, Account>();

export function accountOf(platform: Pick<Platform, 'account' | 'definition'>, settings: Settings): Account {
  let account = accounts.get(settings);
  if (!account) {
    const version = versionOf(platform, settings);
    account = { key: keyOf(version, settings), settings: Object.fromEntries(namedIn(version, settings)) };
    accounts.set(settings, account);
  }
  return account;
}

function keyOf(platform: Pick<Platform, 'account'>, settings: Settings): string {
  return JSON.stringify(namedIn(platform, settings));
}

function namedIn({ account }: Pick<Platform, 'account'>, settings: Settings): (readonly [string, string])[] {
  return account.flatMap((name) => {
    const value = settings[name];
    return value === undefined ? [] : [[name, value] as const];
  });
}

/**
 * Another of the site's connections that sends to the same account. Undefined also where only a secret names the account.
 */
export function connectionToSameAccount(
  platform: Pick<Platform, 'name' | 'account'>,
  { platform: name, settings }: SiteConnection,
  connections: readonly SiteConnection[],
): ConnectionName | undefined {
  // A definition names no account.
  const own = { account: platform.account.filter((name) => name !== DEFINITION) };
  const key = keyOf(own, settings);
  if (key === NOT_NAMED) return undefined;
  return connections.find(
    (other) =>
      other.platform !== name &&
      !other.disconnected &&
      platformNameOf(other.platform) === platform.name &&
      keyOf(own, other.settings) === key,
  )?.platform;
}

/** The connection with its current credentials, for requests to this account. */
export function connectionTo(
  platform: Pick<Platform, 'account' | 'definition'>,
  connection: Connection,
  account: Account,
): Connection {
  if (accountOf(platform, connection.settings).key === account.key) return connection;
  const others = Object.entries(connection.settings).filter(([name]) => !platform.account.includes(name));
  return { ...connection, settings: { ...Object.fromEntries(others), ...account.settings } };
}

/**
 * Whether a delivery that is bound to an earlier account may still be sent there: the platform has not been disconnected
 * and connected to another account since, and it would say so if the credentials were not valid for that account.
 */
export function isStillConnected(
  platform: Pick<Platform, 'account' | 'definition' | 'hidesRefusals'>,
  { versions, settings }: Pick<SiteConnection, 'versions' | 'settings'>,
  account: Account,
  asOf: SettingsAsOf = {},
): boolean {
  if (accountOf(platform, settings).key === account.key) return true;
  if (platform.hidesRefusals) return false;
  return !versions.some((version) => version.reconnected && isLater(version, asOf));
}
