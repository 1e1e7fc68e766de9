import { DEFINITIONS_STREAM, LOG, type LogEvent, NO_SITE } from '../events/log.events.js';
import type { Actor, CommandExecutor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import type { EventLog } from '../log/event-log.js';
import { platformNameOf } from '../platforms/connection-name.js';
import { DEFINITION, definedPlatform, digestOf } from '../platforms/defined/compile.js';
import { platformOf } from '../platforms/index.js';
import type { Platform } from '../platforms/platform.js';
import { ConnectPlatform } from './connections/connection.commands.js';
import type { SiteConnection } from './connections/connection.js';
import type { SiteRepository } from './site-repository.js';

/** The newest version of a definition. */
export interface StoredDefinition {
  readonly name: string;
  /** Counts from 1. */
  readonly version: number;
  readonly text: string;
  readonly definedAt: string;
}

/** By name. */
export async function readDefinitions(
  log: Pick<EventLog, 'readStream'>,
): Promise<ReadonlyMap<string, StoredDefinition>> {
  const definitions = new Map<string, StoredDefinition>();
  for (const { type, data, time } of await log.readStream(LOG, DEFINITIONS_STREAM)) {
    if (type !== 'log.platform_defined.v1') continue;
    const { name, definition: text } = data;
    const version = (definitions.get(name)?.version ?? 0) + 1;
    definitions.set(name, { name, version, text, definedAt: time });
  }
  return definitions;
}

/** The platform to connect under a name: the newest definition of it, or the one that is built in. */
export async function findPlatform(
  log: Pick<EventLog, 'readStream'>,
  connection: string,
): Promise<Platform | undefined> {
  const name = platformNameOf(connection);
  const definition = (await readDefinitions(log)).get(name);
  return (definition && definedPlatform(definition.text)) ?? platformOf(name);
}

/** Whether a connection is of the definition of a name, in any version. */
export function isDefinedAs(name: string, { platform, settings, disconnected }: SiteConnection): boolean {
  return !disconnected && settings[DEFINITION] !== undefined && platformNameOf(platform) === name;
}

/** A connection and why it keeps the version that it had. */
export interface KeptConnection {
  readonly site: string;
  readonly connection: string;
  readonly reason: string;
}

export interface DefinedPlatform {
  readonly name: string;
  readonly version: number;
  readonly digest: string;
  /** Connections that use this version from now on. */
  readonly connections: number;
  readonly kept: readonly KeptConnection[];
}

/**
 * Stores a definition and connects its connections anew. Again with the same definition it connects those that were left, because
 * the process ended or a setting was missing.
 */
export async function definePlatform(
  { log, sites, commands }: { log: EventLog; sites: SiteRepository; commands: CommandExecutor },
  actor: Actor,
  platform: Platform,
): Promise<DefinedPlatform> {
  const { name, definition = '' } = platform;
  const before = (await readDefinitions(log)).get(name);
  if (before?.text !== definition) {
    const event: LogEvent = { type: 'log.platform_defined.v1', data: { name, definition } };
    await log.append({
      category: LOG,
      stream: DEFINITIONS_STREAM,
      expected: 'any',
      site: NO_SITE,
      actor,
      events: [event],
    });
  }
  let connections = 0;
  const kept: KeptConnection[] = [];
  for (const site of await sites.all())
    for (const connection of site.connections) {
      if (!isDefinedAs(name, connection)) continue;
      try {
        await commands.execute(new ConnectPlatform(actor, site.host, platform, { set: {} }, connection.platform));
        connections += 1;
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        kept.push({ site: site.host, connection: connection.platform, reason: error.message });
      }
    }
  const version = (await readDefinitions(log)).get(name)?.version ?? 1;
  return { name, version, digest: digestOf(definition), connections, kept };
}
