import type { MigrationInterface } from 'typeorm';
import { EventLog0000000000001 } from './0001-event-log.js';
import { Sites0000000000002 } from './0002-sites.js';
import { Dispatch0000000000003 } from './0003-dispatch.js';
import { Visitors0000000000004 } from './0004-visitors.js';
import { Outbound0000000000007 } from './0007-outbound.js';
import { Kafka0000000000020 } from './0020-kafka.js';
import { Names0000000000021 } from './0021-names.js';
import { Version03_0000000000022 } from './0022-version-0-3.js';

export interface Migration extends MigrationInterface {
  readonly name: string;
  /**
   * Instances of the version before keep working during the migration and after it, so old and new may run side by side.
   * Without it the upgrade is refused while such an instance is connected, and its later starts are refused.
   */
  readonly rolling?: true;
}

/** In the order they run. A released migration is never changed: a later one corrects it. */
export const MIGRATIONS: readonly (new () => Migration)[] = [
  EventLog0000000000001,
  Sites0000000000002,
  Dispatch0000000000003,
  Visitors0000000000004,
  Outbound0000000000007,
  Kafka0000000000020,
  Names0000000000021,
  Version03_0000000000022,
];

/** The number at the end of a migration's name. */
export function schemaNumber(migration: string): number {
  return Number(/\d+$/.exec(migration)?.[0]);
}

/** The schema that this version works with: the number of its last migration. */
export const SCHEMA = Math.max(...MIGRATIONS.map((Migration) => schemaNumber(new Migration().name)));
