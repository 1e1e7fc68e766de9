import { randomBytes } from 'node:crypto';
import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../../kernel/command.js';
import { UserError } from '../../kernel/errors.js';
import { MappingError } from '../../kernel/expressions/expression.js';
import { uuidv7 } from '../../kernel/uuid.js';
import { compileMapping } from '../../sources/mapping/compile.js';
import { changedMapping, type Mapping } from '../../sources/mapping/mapping.js';
import type { Source } from '../../sources/source.js';
import { findSource, SOURCE_NAMES } from '../../sources/sources.js';
import type { Site } from '../site.js';
import { SecretsHandler, SiteHandler } from '../site-command-handler.js';
import type { Decision } from '../site-repository.js';
import type { SiteSecrets } from '../site-secrets.js';
import { ownerOf } from './loaded-source.js';
import type { SiteSource } from './site-source.js';
import {
  ChangeSourceMapping,
  type ConnectedSource,
  ConnectSource,
  DisconnectSource,
  RotateSource,
} from './source.commands.js';

const SECRET_MIN = 8;
const SECRET_MAX = 512;
const MAPPING_MAX = 32_768;

@CommandHandler(ConnectSource)
export class ConnectSourceHandler extends SecretsHandler implements ICommandHandler<ConnectSource> {
  async execute({ host, actor, source: name, secret: given }: ConnectSource): Promise<ConnectedSource> {
    const source = requireSource(name);
    const requested = given === undefined ? undefined : validSecret(given);
    let generatedSecret: string | undefined;
    const site = await this.sites.change(host, actor, (site) => {
      const before = find(site, name);
      generatedSecret = requested === undefined && !before?.hasSecret ? generatedFor(source) : undefined;
      const secret = requested ?? generatedSecret;
      if (before && secret === undefined) return undefined;
      const { keyId = uuidv7(), mapping = {} } = before ?? {};
      const hasSecret = secret !== undefined;
      return connected({ source: name, keyId, mapping, hasSecret }, site, this.secrets, secret && { secret });
    });
    return { connection: requireConnected(site, name), generatedSecret };
  }
}

@CommandHandler(RotateSource)
export class RotateSourceHandler extends SecretsHandler implements ICommandHandler<RotateSource> {
  async execute(command: RotateSource): Promise<ConnectedSource> {
    const { host, actor, source: name, previousUntil } = command;
    const source = requireSource(name);
    const generated = command.secret === undefined ? generatedFor(source) : undefined;
    if (command.secret === undefined && generated === undefined)
      throw new UserError(`${source.label} makes the secret: give the new one with --set secret=<signing secret>.`);
    const secret = generated ?? validSecret(command.secret as string);
    const site = await this.sites.change(host, actor, async (site) => {
      const { keyId, mapping } = requireConnected(site, name);
      const { secret: previous } = await this.secrets.connectionSecrets(site.host, ownerOf(name));
      const isOverlap = previous !== undefined && previous !== secret;
      const next = { source: name, keyId, mapping, hasSecret: true, ...(isOverlap && { previousUntil }) };
      return connected(next, site, this.secrets, isOverlap ? { secret, previous } : { secret });
    });
    return { connection: requireConnected(site, name), generatedSecret: generated };
  }
}

@CommandHandler(ChangeSourceMapping)
export class ChangeSourceMappingHandler extends SiteHandler implements ICommandHandler<ChangeSourceMapping> {
  async execute({ host, actor, source: name, changes, isWhole }: ChangeSourceMapping): Promise<ConnectedSource> {
    const source = requireSource(name);
    const site = await this.sites.change(host, actor, (site) => {
      const { createdAt: _, ...before } = requireConnected(site, name);
      const mapping = mergedChanges(isWhole ? {} : before.mapping, changes);
      requireValid(source, mapping);
      if (JSON.stringify(mapping) === JSON.stringify(before.mapping)) return undefined;
      return { type: 'site.source_connected.v1', data: { ...before, mapping } };
    });
    return { connection: requireConnected(site, name) };
  }
}

@CommandHandler(DisconnectSource)
export class DisconnectSourceHandler extends SecretsHandler implements ICommandHandler<DisconnectSource> {
  async execute({ host, actor, source }: DisconnectSource): Promise<ConnectedSource> {
    let connection: SiteSource | undefined;
    await this.sites.change(host, actor, (site) => {
      connection = requireConnected(site, source);
      return disconnectSource(site, source, this.secrets);
    });
    return { connection: connection as SiteSource };
  }
}

/** Ends the connection, and deletes its secrets with the event. */
export function disconnectSource(site: Site, source: string, secrets: SiteSecrets): Decision {
  if (!find(site, source)) return undefined;
  return {
    events: [{ type: 'site.source_disconnected.v1', data: { source } }],
    change: (client) =>
      secrets.within(client).deleteConnectionSecrets(site.host, ownerOf(source), ['secret', 'previous']),
  };
}

/** Throws if the mapping of a site, applied to that of the source, is not valid. */
export function requireValid(source: Source, changes: Mapping): void {
  if (JSON.stringify(changes).length > MAPPING_MAX)
    throw new UserError(`The mapping has more than ${MAPPING_MAX} characters. Remove rules that are not needed.`);
  try {
    compileMapping(changedMapping(source.mapping, changes));
  } catch (error) {
    if (error instanceof MappingError) throw new UserError(`${error.message}.`);
    throw error;
  }
}

export function requireSource(name: string): Source {
  const source = findSource(name);
  if (!source) throw new UserError(`There is no source "${name.slice(0, 50)}". Available: ${SOURCE_NAMES.join(', ')}.`);
  return source;
}

export function requireConnected(site: Site, source: string): SiteSource {
  const connection = find(site, source);
  if (connection) return connection;
  throw new UserError(
    `${source} is not connected to ${site.host}. Connect it with "sources connect ${source} --site ${site.host}".`,
  );
}

function find({ sources }: Site, name: string): SiteSource | undefined {
  return sources.find(({ source }) => source === name);
}

function connected(
  data: Omit<SiteSource, 'createdAt'>,
  { host }: Site,
  secrets: SiteSecrets,
  values: Readonly<Record<string, string>> | '' | undefined,
): Decision {
  return {
    events: [{ type: 'site.source_connected.v1', data }],
    change: async (client) => {
      const within = secrets.within(client);
      const owner = ownerOf(data.source);
      await within.deleteConnectionSecrets(host, owner, ['previous']);
      if (values) await within.storeConnectionSecrets(host, owner, values);
    },
  };
}

/** Also an empty expression stays: it removes a rule of the source. */
function mergedChanges(before: Mapping, changes: Mapping): Mapping {
  const merged: Record<string, Readonly<Record<string, string>>> = { ...before };
  for (const [topic, rules] of Object.entries(changes)) merged[topic] = { ...merged[topic], ...rules };
  return merged;
}

function generatedFor(source: Source): string | undefined {
  return source.secret === 'generated' ? randomBytes(32).toString('base64url') : undefined;
}

function validSecret(text: string): string {
  const secret = text.trim();
  if (secret.length < SECRET_MIN || secret.length > SECRET_MAX || /[\p{Cc}\p{Cs}]/u.test(secret))
    throw new UserError(`--set secret: give ${SECRET_MIN} to ${SECRET_MAX} characters without line breaks.`);
  return secret;
}
