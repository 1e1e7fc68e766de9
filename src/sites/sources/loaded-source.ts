import { MappingError } from '../../kernel/expressions/expression.js';
import {
  type CompiledMapping,
  compileMapping,
  type ReadPointers,
  readPointers,
} from '../../sources/mapping/compile.js';
import { changedMapping } from '../../sources/mapping/mapping.js';
import type { Source } from '../../sources/source.js';
import { findSource } from '../../sources/sources.js';
import type { ConnectionSecrets, SourceOwner } from '../site-secrets.js';
import type { SiteSource } from './site-source.js';

/** A connected source with its secrets, ready for deliveries. */
export interface LoadedSource {
  readonly source: Source;
  readonly connection: SiteSource;
  readonly secrets: ConnectionSecrets;
  /** Undefined if this version cannot read the rules of the site: deliveries have to be sent again. */
  readonly mapping: CompiledMapping | undefined;
  /** What is read of a delivery, by topic: by the rules of the site, and by those of the source. */
  readonly pointers: ReadonlyMap<string, ReadPointers>;
}

export function ownerOf(source: string): SourceOwner {
  return `source-${source}`;
}

/** `reloaded`: the secrets of the site by owner, if they were read again. A source that this version does not know is left out. */
export function loadSources(
  sources: readonly SiteSource[],
  before: ReadonlyMap<string, LoadedSource> | undefined,
  reloaded: ReadonlyMap<string, ConnectionSecrets> | undefined,
): Map<string, LoadedSource> {
  return new Map(
    sources.flatMap((connection) => {
      const known = before?.get(connection.keyId);
      const secrets = reloaded ? reloaded.get(ownerOf(connection.source)) : known?.secrets;
      if (known && known.connection === connection) return [[connection.keyId, { ...known, secrets: secrets ?? {} }]];
      const source = findSource(connection.source);
      return source ? [[connection.keyId, loadSource(source, connection, secrets ?? {})]] : [];
    }),
  );
}

export function loadSource(source: Source, connection: SiteSource, secrets: ConnectionSecrets): LoadedSource {
  const mapping = readMapping(source, connection);
  const own = compileMapping(source.mapping);
  const pointers = new Map(
    [...(mapping ?? [])].map(([topic, rules]) => {
      const rulesOfSource = own.get(topic);
      return [topic, readPointers(rulesOfSource ? [rules, rulesOfSource] : [rules])];
    }),
  );
  return { source, connection, secrets, mapping, pointers };
}

function readMapping(source: Source, connection: SiteSource): CompiledMapping | undefined {
  try {
    return compileMapping(changedMapping(source.mapping, connection.mapping));
  } catch (error) {
    if (error instanceof MappingError) return undefined;
    throw error;
  }
}

/** The secrets that verify a delivery at this time. */
export function secretsAt({ secrets, connection }: LoadedSource, nowMs: number): string[] {
  const { secret, previous } = secrets;
  const { previousUntil } = connection;
  const isOverlap = previousUntil !== undefined && nowMs < Date.parse(previousUntil);
  return [secret, isOverlap ? previous : undefined].filter((each) => each !== undefined);
}
