import type { ClientBase, Pool } from 'pg';
import type { DataSourceOptions, QueryRunner } from 'typeorm';
import { UserError } from '../kernel/errors.js';
import { productVersion } from '../kernel/product-version.js';
import { describeInstances, findEarlierInstances } from './instances.js';
import { MIGRATIONS, type Migration, SCHEMA, schemaNumber } from './migrations/index.js';

/** Advisory locks are per database. Every version takes this one; it is not the append's. */
const MIGRATION_LOCK = 4845002;
/** From this schema on, `cc.schema_compatibility` records which versions can use the database. */
const FIRST_RECORDED_SCHEMA = 21;
const MIGRATIONS_TABLE = 'schema_migrations';

/**
 * Brings the schema up to date; returns whether that changed anything. The first of several instances does the work while
 * the others wait for the lock, which is held until `owner` disconnects. Refuses, before anything is changed, a database
 * of a later version and an upgrade that connected instances could not work with.
 */
export async function migrateSchema(owner: ClientBase, connection: DataSourceOptions): Promise<boolean> {
  await lockSchema(owner);
  await refuseLaterSchema(owner);
  const applied = await readMigrations(owner);
  const pending = MIGRATIONS.map((Migration) => new Migration()).filter(({ name }) => !applied.includes(name));
  if (pending.length === 0) return false;
  await refuseEarlierInstances(owner, pending);
  await owner.query('CREATE SCHEMA IF NOT EXISTS cc');
  await copyMigrationsOfVersion01(owner);
  await runMigrations(connection);
  return true;
}

/** Until `owner` disconnects no other process starts to use the database. */
export async function lockSchema(owner: ClientBase): Promise<void> {
  await owner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
}

/** The names of the migrations that this database has. */
export async function readMigrations(client: ClientBase | Pool): Promise<string[]> {
  const { rows: tables } = await client.query<{ table: string }>(
    `SELECT oid::regclass AS table FROM pg_class
      WHERE oid IN (to_regclass('cc.${MIGRATIONS_TABLE}'), to_regclass('cc.migrations')) AND relkind = 'r'`,
  );
  if (tables.length === 0) return [];
  const names = tables.map(({ table }) => `SELECT name FROM ${table}`).join(' UNION ');
  const { rows } = await client.query<{ name: string }>(names);
  return rows.map(({ name }) => name);
}

/** Refuses while instances are connected that cannot work with the schema as the pending migrations leave it. */
export async function refuseEarlierInstances(owner: ClientBase, pending: readonly Migration[]): Promise<void> {
  const required = Math.max(0, ...pending.filter(({ rolling }) => !rolling).map(({ name }) => schemaNumber(name)));
  const earlier = await findEarlierInstances(owner, required);
  if (earlier.length === 0) return;
  throw new UserError(
    `Version ${productVersion()} upgrades this database in a way that earlier versions cannot work with, and some are ` +
      `connected to it: ${earlier.map(describeInstances).join('; ')}. Stop them, then start this version. Nothing was changed.`,
  );
}

async function refuseLaterSchema(owner: ClientBase): Promise<void> {
  const made = await owner.query<{ made: boolean }>(
    `SELECT to_regclass('cc.schema_compatibility') IS NOT NULL AS made`,
  );
  if (!made.rows[0]?.made) return;
  const { rows } = await owner.query<{ version: string }>(
    'SELECT version FROM cc.schema_compatibility WHERE schema > $1',
    [SCHEMA],
  );
  if (!rows[0]) return;
  const { version } = rows[0];
  throw new UserError(
    `This database was upgraded by Clean Conversions ${version}. Version ${productVersion()} cannot use it: start version ` +
      `${version} or later, or restore the backup made before the upgrade. Nothing was changed.`,
  );
}

/**
 * Version 0.1 recorded its migrations in `cc.migrations`, which migration 21 replaces. Until that has run the old table
 * stays complete, so that version 0.1 still starts after an upgrade that failed.
 */
async function copyMigrationsOfVersion01(owner: ClientBase): Promise<void> {
  await owner.query(`
    CREATE TABLE IF NOT EXISTS cc.${MIGRATIONS_TABLE} (id serial PRIMARY KEY, timestamp bigint NOT NULL, name text NOT NULL);
    DO $$ BEGIN
      IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('cc.migrations') AND relkind = 'r') THEN
        INSERT INTO cc.${MIGRATIONS_TABLE} (timestamp, name)
        SELECT timestamp, name FROM cc.migrations m
         WHERE NOT EXISTS (SELECT FROM cc.${MIGRATIONS_TABLE} s WHERE s.name = m.name) ORDER BY id;
      END IF;
    END $$`);
}

/** All pending migrations in one transaction: an upgrade that fails leaves the database as it was. */
async function runMigrations(connection: DataSourceOptions): Promise<void> {
  const { DataSource } = await import('typeorm');
  const source = await new DataSource({
    ...connection,
    migrations: MIGRATIONS.map(recordingCompatibility),
    migrationsTableName: MIGRATIONS_TABLE,
    migrationsTransactionMode: 'all',
  } as DataSourceOptions).initialize();
  try {
    await source.runMigrations();
  } finally {
    await source.destroy();
  }
}

/** Later starts of versions before this one are refused from the same commit on, unless the migration is rolling. */
function recordingCompatibility(Base: new () => Migration): new () => Migration {
  return class extends Base {
    override async up(runner: QueryRunner): Promise<void> {
      await super.up(runner);
      const schema = schemaNumber(this.name);
      if (this.rolling || schema < FIRST_RECORDED_SCHEMA) return;
      await runner.query(
        `INSERT INTO cc.schema_compatibility (schema, version) VALUES ($1, $2)
         ON CONFLICT (one) DO UPDATE SET schema = excluded.schema, version = excluded.version`,
        [schema, productVersion()],
      );
    }
  };
}
