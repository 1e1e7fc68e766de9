import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Read models of the sites, an index to follow their events in a large log, and the table of sealed secrets. */
export class Sites0000000000002 implements MigrationInterface {
  name = 'Sites0000000000002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
-- Every instance folds the sites in memory: it must find their few events among millions without scanning the log.
CREATE INDEX events_sites ON cc.events (position) WHERE noun IN ('site', 'auth');

CREATE TABLE cc.sites (
  id          uuid PRIMARY KEY,
  host        text COLLATE "C" NOT NULL UNIQUE,
  aliases     json NOT NULL,
  inbound     boolean NOT NULL,
  settings    json NOT NULL,
  keys        json NOT NULL,
  connections json NOT NULL,
  created_at  timestamptz(3) NOT NULL
);

-- The time of the newest event of each key.
CREATE TABLE cc.key_usage (
  key_id       uuid PRIMARY KEY,
  last_used_at timestamptz(3) NOT NULL
);

CREATE TABLE cc.auth_failures (
  site      text COLLATE "C" NOT NULL,
  minute    timestamptz(0) NOT NULL,
  failed    bigint NOT NULL,
  throttled bigint NOT NULL,
  PRIMARY KEY (site, minute)
);

CREATE TABLE cc.secrets (
  site   text COLLATE "C" NOT NULL,
  name   text COLLATE "C" NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (site, name)
);
`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not drop sites. Restore a backup instead.');
  }
}
