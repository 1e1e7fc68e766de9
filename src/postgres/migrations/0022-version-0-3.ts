import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One file for each function of the database, in its current form. */
const FUNCTIONS = join(import.meta.dirname, '..', 'functions');

/**
 * From version 0.2 to 0.3. The functions are installed by the newest migration: one that is added after this one takes that over,
 * drops what has another signature, and leaves the tables to this one.
 */
export class Version03_0000000000022 implements MigrationInterface {
  name = 'Version03_0000000000022';

  async up(runner: QueryRunner): Promise<void> {
    for (const part of [LOG, DELIVERIES, VISITORS, SITES, USERS, JOBS, ALERTS, STATISTICS]) await runner.query(part);
    await runner.query('DROP FUNCTION cc.append(json, boolean, boolean)');
    for (const file of readdirSync(FUNCTIONS).sort()) await runner.query(readFileSync(join(FUNCTIONS, file), 'utf8'));
    await runner.query('REVOKE EXECUTE ON FUNCTION cc.follow_lineage(bigint) FROM PUBLIC');
  }

  async down(): Promise<void> {
    throw new Error('Migrations do not remove the seals of the log. Restore a backup instead.');
  }
}

const LOG = `
-- One row per batch of events. Events from before this migration have none: the chain starts with the first batch after it.
CREATE TABLE cc.seals (
  first  bigint NOT NULL,
  last   bigint PRIMARY KEY,
  count  integer NOT NULL,
  -- SHA-256 over the digests of the batch's events, in order.
  digest bytea NOT NULL,
  -- SHA-256 over the previous head and this digest.
  head   bytea NOT NULL,
  time   timestamptz(3) NOT NULL
);

-- Salt of the digest by which the chain covers a personal part. It is deleted with the row, so that the digest reveals nothing.
ALTER TABLE cc.personal ADD COLUMN salt bytea;

-- Digests of erased personal parts: the chain stays verifiable without them. Parts from before the chain have none.
CREATE TABLE cc.erased_parts (
  position bigint PRIMARY KEY,
  digest   bytea,
  -- A reader of the log that has got to this position sees the part erased.
  since    bigint NOT NULL
);
CREATE INDEX erased_parts_since ON cc.erased_parts (since);

-- Digests of events that retention removed from a batch of which other events are kept.
CREATE TABLE cc.removed_events (
  position bigint PRIMARY KEY,
  digest   bytea NOT NULL
);

-- Streams with a derived id (UUIDv8) whose events retention has removed. An imported line has the same id whenever it is
-- imported again: without this table it would count once more.
CREATE TABLE cc.removed_streams (stream uuid PRIMARY KEY);

-- Where the time of the log went back, because the clock had been ahead: the first position with the earlier time, the time
-- of the event before it, and its own.
CREATE TABLE cc.clock_steps (
  position    bigint PRIMARY KEY,
  before_time timestamptz(3) NOT NULL,
  after_time  timestamptz(3) NOT NULL
);

-- "session" is 0 for a permanent hold. Any other number is the second key of an advisory lock that the reader's database session
-- keeps: without that lock the reader is gone, and its row holds nothing.
ALTER TABLE cc.log_holds
  ADD COLUMN since   timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN session integer NOT NULL DEFAULT 0,
  DROP CONSTRAINT log_holds_pkey,
  ADD PRIMARY KEY (name, session);
CREATE SEQUENCE cc.log_hold_session AS integer CYCLE;

-- The private keys are sealed in cc.secrets, under the site '' and the name 'signing.<id>'. One key is active.
CREATE TABLE cc.signing_keys (
  id         text COLLATE "C" PRIMARY KEY,
  public_key text NOT NULL,
  active     boolean NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX signing_keys_active ON cc.signing_keys (active) WHERE active;

CREATE TABLE cc.checkpoints (
  position  bigint PRIMARY KEY,
  time      timestamptz(3) NOT NULL,
  -- The signed checkpoint, a compact JWS.
  token     text NOT NULL,
  published boolean NOT NULL DEFAULT false
);
CREATE INDEX checkpoints_unpublished ON cc.checkpoints (position) WHERE NOT published;

-- Only the owner of the schema reads it. The login can do less than the owner.
CREATE TABLE cc.service_login (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  role     text NOT NULL,
  password text NOT NULL
);

-- For searches in the sync log: an index to find a site's attempts by type and connection, newest first.
-- A hash of site, type and connection: 8 bytes, and the attempts of one connection are side by side. The negative position is an
-- order that no other index has: with the position itself, PostgreSQL might scan the log backwards until it has found enough.
CREATE INDEX events_attempts ON cc.events (
  hashtextextended(coalesce(data ->> 'platform', ''), hashtextextended(type, hashtextextended(site, 0))), (- position))
  WHERE type IN ('conversion.delivered.v1', 'conversion.accepted.v1', 'conversion.confirmed.v1', 'conversion.rejected.v1',
    'conversion.skipped.v1', 'conversion.deferred.v1', 'conversion.failed.v1', 'conversion.validated.v1',
    'outbound.delivered.v1', 'outbound.failed.v1', 'inbound.rejected.v1');
CREATE INDEX events_visitors ON cc.events (position) WHERE category = 'visitor';

-- Where the log continued after the last change of its lineage; null if it has never changed. "database": its oid, and that of this table, because a dump that is restored in place
-- makes another table in the same database.
ALTER TABLE cc.lineage ADD COLUMN start bigint, ADD COLUMN database text;
UPDATE cc.lineage SET
  start = nullif((SELECT last_value FROM cc.event_position) / 1000000000 * 1000000000, 0),
  database = (SELECT oid FROM pg_database WHERE datname = current_database()) || ' ' || 'cc.lineage'::regclass::oid;
ALTER TABLE cc.lineage ALTER COLUMN database SET NOT NULL;

-- Where the lineage of the log began (0 for the first) when the topics were last compared with it; null before that. Every change of the
-- lineage of a log with events begins another one.
ALTER TABLE cc.kafka_relay ADD COLUMN lineage_start bigint;
UPDATE cc.kafka_relay r SET lineage_start = CASE WHEN EXISTS (
    SELECT FROM cc.lineage l WHERE l.system::text = r.system::text AND l.timeline = r.timeline)
  THEN coalesce((SELECT start FROM cc.lineage), 0) ELSE -1 END
 WHERE r.system IS NOT NULL;
ALTER TABLE cc.kafka_relay DROP COLUMN system, DROP COLUMN timeline;
`;

const DELIVERIES = `
-- What is owed is found by reading the log: instances hold no leases any more. A delivery that any instance may carry out has a
-- lease of its own, by the database's clock.
DROP TABLE cc.delivery_leases;
CREATE TABLE cc.delivery_leases (
  conversion uuid NOT NULL,
  platform   text COLLATE "C" NOT NULL,
  holder     uuid NOT NULL,
  until      timestamptz NOT NULL,
  PRIMARY KEY (conversion, platform)
);
DELETE FROM cc.leases WHERE starts_with(name, 'instance:');
-- Earlier versions could lose deliveries: the scan reads the log once from its start.
INSERT INTO cc.leases (name, holder, token, until, reached) VALUES ('deliveries-scan', gen_random_uuid(), 1, '-infinity', 0);

-- An attempt is due at this time even if the connection is parked or paused: it records that the delivery is too old. NULL for
-- deliveries that were deferred by earlier versions.
ALTER TABLE cc.deliveries ADD COLUMN give_up_at timestamptz(3);
CREATE INDEX deliveries_give_up ON cc.deliveries (give_up_at) WHERE give_up_at IS NOT NULL;

-- Earlier versions deleted the secrets of a connection after the event, and left them when they were interrupted in between.
DELETE FROM cc.secrets s USING (
  SELECT DISTINCT ON (site, data ->> 'platform') site, data ->> 'platform' AS connection, type FROM cc.events
   WHERE category = 'site' AND type IN ('site.platform_connected.v1', 'site.platform_disconnected.v1')
   ORDER BY site, data ->> 'platform', position DESC) newest
 WHERE newest.type = 'site.platform_disconnected.v1' AND s.site = newest.site AND starts_with(s.name, newest.connection || '.');
`;

/** Identifiers and consent of a person by visitor. Rows from before belong to one visitor per person, the empty one. */
const VISITORS = `
-- "landed": when the service received the landing of a click, or first saw the visitor; null if it did not before the call.
ALTER TABLE cc.identifiers ADD COLUMN visitor bytea NOT NULL DEFAULT '', ADD COLUMN landed timestamptz(3);
UPDATE cc.identifiers SET landed = at WHERE kind <> 'bot';
ALTER TABLE cc.identifiers ALTER COLUMN visitor DROP DEFAULT, DROP CONSTRAINT identifiers_pkey,
  ADD PRIMARY KEY (site, subject, visitor, kind);

-- "visitor": who made the statement. Empty: statements from before; 00: operators; 01: visitors that cannot be recognised
-- again, of which only denials are stored. "denies" orders the statements, so that no number of others hides a denial.
ALTER TABLE cc.consent ADD COLUMN visitor bytea NOT NULL DEFAULT '', ADD COLUMN denies boolean NOT NULL DEFAULT false;
UPDATE cc.consent SET denies = true
 WHERE state ->> 'ad_storage' = 'denied' OR state ->> 'ad_user_data' = 'denied' OR state ->> 'gpc' = 'true';
ALTER TABLE cc.consent ALTER COLUMN visitor DROP DEFAULT, ALTER COLUMN denies DROP DEFAULT, DROP CONSTRAINT consent_pkey,
  ADD PRIMARY KEY (site, subject, visitor);
`;

const SITES = `
-- A removed site keeps its row, because a host that is added again continues its stream.
ALTER TABLE cc.sites
  ADD COLUMN removed boolean NOT NULL DEFAULT false,
  ADD COLUMN paused boolean NOT NULL DEFAULT false,
  ADD COLUMN epoch integer NOT NULL DEFAULT 0,
  ADD COLUMN move json,
  ADD COLUMN sources json NOT NULL DEFAULT '[]';
-- The projection writes the rows again: without lists of blocked people, and with versions of the site's stream in place of positions.
DELETE FROM cc.sites;
UPDATE cc.projections SET position = 0 WHERE name = 'sites';

-- The newest deliveries of each connection of a source, and how many were refused.
CREATE TABLE cc.source_deliveries (
  key_id     uuid NOT NULL,
  position   bigint NOT NULL,
  site       text COLLATE "C" NOT NULL,
  time       timestamptz(3) NOT NULL,
  topic      text NOT NULL,
  outcome    text NOT NULL,
  reason     text,
  conversion uuid,
  PRIMARY KEY (key_id, position)
);
CREATE TABLE cc.source_refusals (
  key_id uuid NOT NULL,
  reason text COLLATE "C" NOT NULL,
  site   text COLLATE "C" NOT NULL,
  count  bigint NOT NULL,
  last   timestamptz(3) NOT NULL,
  PRIMARY KEY (key_id, reason)
);

-- Sites for which nothing new is stored. Written in the transaction of the event that pauses or resumes the site. Closed: nothing of
-- the site is stored but erasures. Streams that began are not continued either.
CREATE TABLE cc.paused_sites (
  site   text COLLATE "C" PRIMARY KEY,
  closed boolean NOT NULL DEFAULT false
);

-- The newest move of a site in each direction. Every step of a move locks the row of the cell that it is made in.
CREATE TABLE cc.site_moves (
  site text COLLATE "C" NOT NULL,
  direction text NOT NULL CHECK (direction IN ('in', 'out')),
  -- How often the site has moved, this time included. A step of an earlier move is refused.
  epoch integer NOT NULL,
  -- The other cell.
  cell text NOT NULL,
  -- Everything up to this position of the log that the site leaves is copied: so many events.
  reached bigint NOT NULL DEFAULT 0,
  events bigint NOT NULL DEFAULT 0,
  -- Of the site when its move began; null in the cell that it moves to.
  total bigint,
  -- Complete, or cancelled.
  done boolean NOT NULL DEFAULT false,
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- In the cell that a site moves to: what is copied follows this position of its own log.
  after bigint,
  PRIMARY KEY (site, direction)
);

-- What other cells have proved. As long as a row exists, the site is closed in cc.paused_sites. It ends when the site comes back.
CREATE TABLE cc.sites_elsewhere (
  site text COLLATE "C" PRIMARY KEY,
  -- The cell that has the site, or had it before it moved on.
  cell text NOT NULL,
  -- The move by which that cell got it.
  epoch integer NOT NULL,
  found_at timestamptz NOT NULL DEFAULT now()
);
`;

const USERS = `
CREATE TABLE cc.users (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('admin', 'operator', 'analyst')),
  -- Null: all sites.
  sites text[],
  password_hash text,
  disabled_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Digest of issuer and subject at the sign-in provider. An email address may be given to another person, a subject is not.
  identity bytea UNIQUE,
  -- When the provider last confirmed the role, and the refresh token with which it is asked again, sealed.
  confirmed_at timestamptz(3),
  provider_grant bytea,
  -- Of the digest that the log has of the identity, which can be guessed: a plain digest would confirm it.
  identity_salt bytea
);

CREATE TABLE cc.user_sessions (
  hash bytea PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES cc.users ON DELETE CASCADE,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  last_used_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX user_sessions_user ON cc.user_sessions (user_id);

-- A link with which a user chooses a password, once. Without a user it creates the first administrator.
CREATE TABLE cc.sign_in_links (
  hash bytea PRIMARY KEY,
  user_id uuid REFERENCES cc.users ON DELETE CASCADE,
  expires_at timestamptz(3) NOT NULL
);

CREATE TABLE cc.sign_in_attempts (
  -- Digest of the account, the address, or both.
  key bytea NOT NULL,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX sign_in_attempts_key ON cc.sign_in_attempts (key, at);
CREATE INDEX sign_in_attempts_at ON cc.sign_in_attempts (at);

CREATE TABLE cc.api_tokens (
  id uuid PRIMARY KEY,
  owner_id uuid NOT NULL REFERENCES cc.users ON DELETE CASCADE,
  name text NOT NULL,
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  scopes text[] NOT NULL,
  sites text[],
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  last_used_at timestamptz(3),
  expires_at timestamptz(3),
  revoked_at timestamptz(3)
);
CREATE INDEX api_tokens_owner ON cc.api_tokens (owner_id);

-- Answers to writes with an Idempotency-Key. Sealed: an answer may hold a secret that is shown once.
CREATE TABLE cc.idempotency_keys (
  actor text NOT NULL,
  key text NOT NULL,
  -- Digest of method, path and body.
  request bytea NOT NULL,
  -- Null while the request is carried out.
  status integer,
  answer bytea,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- Whose erasures delete the answer, as does another site that gets its host. Null for writes that concern no site, and for erasures,
  -- whose answers have nothing about a person.
  site text,
  PRIMARY KEY (actor, key)
);
CREATE INDEX idempotency_keys_created ON cc.idempotency_keys (created_at);

-- Sign-ins at platforms that are under way, or whose tokens wait to be used by a connection.
CREATE TABLE cc.platform_sign_ins (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES cc.users ON DELETE CASCADE,
  -- Signing out ends the sign-ins at platforms that the session started.
  session_hash bytea NOT NULL REFERENCES cc.user_sessions ON DELETE CASCADE,
  site text NOT NULL,
  connection text NOT NULL,
  -- Digests of what the redirect from the platform must have: the state, and the browser's cookie.
  state_hash bytea NOT NULL UNIQUE,
  browser_hash bytea NOT NULL,
  -- A process that ends between the connection and the answer leaves 'connecting': interrupted, not done.
  status text NOT NULL CHECK (status IN ('started', 'exchanging', 'granted', 'connecting', 'connected', 'failed')),
  -- Why it failed, without secrets.
  reason text,
  -- The PKCE verifier and where it was started; later the tokens.
  sealed bytea NOT NULL,
  changed_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX platform_sign_ins_session ON cc.platform_sign_ins (session_hash);
CREATE INDEX platform_sign_ins_user ON cc.platform_sign_ins (user_id);
CREATE INDEX platform_sign_ins_expires ON cc.platform_sign_ins (expires_at);
`;

const ALERTS = `
-- What needs attention, from when it was first seen.
CREATE TABLE cc.alerts (
  id         uuid PRIMARY KEY,
  -- What it is about.
  key        text COLLATE "C" NOT NULL,
  item       json NOT NULL,
  seen_at    timestamptz(3) NOT NULL,
  -- It lasted long enough to be told of.
  started_at timestamptz(3),
  missing_at timestamptz(3),
  ended_at   timestamptz(3)
);
CREATE UNIQUE INDEX alerts_open ON cc.alerts (key) WHERE ended_at IS NULL;
CREATE INDEX alerts_ended ON cc.alerts (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE cc.alert_messages (
  -- Derived from the others, so that two processes cannot add a message twice.
  id         uuid PRIMARY KEY,
  alert      uuid NOT NULL REFERENCES cc.alerts ON DELETE CASCADE,
  channel    uuid NOT NULL,
  type       text NOT NULL CHECK (type IN ('started', 'ended')),
  created_at timestamptz(3) NOT NULL,
  due        timestamptz(3) NOT NULL,
  attempts   integer NOT NULL DEFAULT 0,
  -- Delivered, or given up.
  settled_at timestamptz(3),
  delivered  boolean,
  reason     text
);
CREATE INDEX alert_messages_unsettled ON cc.alert_messages (channel, created_at, id) WHERE settled_at IS NULL;
CREATE INDEX alert_messages_alert ON cc.alert_messages (alert);
`;

const JOBS = `
CREATE TABLE cc.jobs (
  id uuid PRIMARY KEY,
  site text NOT NULL,
  actor text NOT NULL,
  request json NOT NULL,
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  -- Of the lease: who runs the job, and until when if it is not renewed. Each claim has a holder of its own.
  holder uuid,
  until timestamptz(3),
  claims integer NOT NULL DEFAULT 0,
  cancel_requested boolean NOT NULL DEFAULT false,
  progress json,
  -- Where another process continues.
  checkpoint json,
  result json,
  reason text,
  -- Of the file so far.
  bytes bigint NOT NULL DEFAULT 0,
  file_until timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  -- The dry run that the job carries out. A forced delivery counts again each time, so a dry run has one job at most.
  dry_run uuid UNIQUE,
  -- How often an export started again because personal data of its site was erased while it ran.
  restarts integer NOT NULL DEFAULT 0
);
CREATE INDEX jobs_unfinished ON cc.jobs (id) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_site ON cc.jobs (site, id);
CREATE INDEX jobs_finished ON cc.jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_files ON cc.jobs (bytes) WHERE bytes > 0;

CREATE TABLE cc.job_chunks (
  job uuid NOT NULL REFERENCES cc.jobs ON DELETE CASCADE,
  -- Offset of its first byte in the file.
  start bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (job, start)
);
-- Not compressed, which took most of the CPU time of an export. Files are deleted after days.
ALTER TABLE cc.job_chunks ALTER bytes SET STORAGE EXTERNAL;
`;

/**
 * The projection "statistics", by quarter of an hour: the offsets of all time zones are multiples of one, so that a day of any
 * time zone is a sum of rows. It adds to the same few rows again and again, for which pages have room.
 */
const STATISTICS = `
CREATE TABLE cc.conversion_statistics (
  site               text COLLATE "C" NOT NULL,
  quarter            timestamptz(0) NOT NULL,
  currency           text COLLATE "C" NOT NULL,
  conversions        bigint NOT NULL,
  -- Exact, so that the sum does not depend on the order in which events are folded.
  value              numeric NOT NULL,
  -- Of these conversions, also those that were matched later.
  matched            bigint NOT NULL,
  duplicates         bigint NOT NULL,
  -- Of the duplicates: with a field that differs from the first conversion.
  changed_duplicates bigint NOT NULL,
  filtered           bigint NOT NULL,
  PRIMARY KEY (site, quarter, currency)
) WITH (fillfactor = 70);

-- Final outcomes of deliveries, by the time of the outcome.
CREATE TABLE cc.delivery_statistics (
  site      text COLLATE "C" NOT NULL,
  quarter   timestamptz(0) NOT NULL,
  platform  text COLLATE "C" NOT NULL,
  delivered bigint NOT NULL,
  accepted  bigint NOT NULL,
  confirmed bigint NOT NULL,
  rejected  bigint NOT NULL,
  failed    bigint NOT NULL,
  skipped   bigint NOT NULL,
  -- Of the failed and skipped ones: they became too old before the platform took them.
  expired   bigint NOT NULL,
  PRIMARY KEY (site, quarter, platform)
) WITH (fillfactor = 70);

-- Names of events, as senders state them.
CREATE TABLE cc.event_statistics (
  site        text COLLATE "C" NOT NULL,
  quarter     timestamptz(0) NOT NULL,
  event       text COLLATE "C" NOT NULL,
  conversions bigint NOT NULL,
  PRIMARY KEY (site, quarter, event)
) WITH (fillfactor = 70);

CREATE TABLE cc.refusal_statistics (
  site    text COLLATE "C" NOT NULL,
  quarter timestamptz(0) NOT NULL,
  refused bigint NOT NULL,
  PRIMARY KEY (site, quarter)
);

-- Fields of conversions that were sent and not used, by names of fixed lists.
CREATE TABLE cc.field_statistics (
  site    text COLLATE "C" NOT NULL,
  quarter timestamptz(0) NOT NULL,
  field   text COLLATE "C" NOT NULL,
  -- Conversions in which the value was not valid.
  dropped bigint NOT NULL,
  -- Conversions that have it although it is not the name of a field.
  unknown bigint NOT NULL,
  PRIMARY KEY (site, quarter, field)
);

CREATE TABLE cc.consent_statistics (
  site    text COLLATE "C" NOT NULL,
  quarter timestamptz(0) NOT NULL,
  -- Of "unknown"; '' of "denials".
  platform text COLLATE "C" NOT NULL,
  -- Statements of visitors from Europe, as far as that is known, that withhold.
  denials bigint NOT NULL,
  -- Conversions that the platform refused because it does not know the consent.
  unknown bigint NOT NULL,
  PRIMARY KEY (site, quarter, platform)
);

-- Where conversions came from. An erasure takes out what the conversions of the person added.
CREATE TABLE cc.attributions (
  site        text COLLATE "C" NOT NULL,
  quarter     timestamptz(0) NOT NULL,
  -- "first": of the first conversions of the quarter, which may have any source. "joined": of these, matched later.
  -- "further": of all others, whose source is one that a "first" row has, or is counted in a row with "other".
  part        text COLLATE "C" NOT NULL,
  other       boolean NOT NULL,
  -- '' where there is none.
  source      text COLLATE "C" NOT NULL,
  medium      text COLLATE "C" NOT NULL,
  campaign    text COLLATE "C" NOT NULL,
  -- Kind of the newest click id.
  click       text COLLATE "C" NOT NULL,
  matched     boolean NOT NULL,
  currency    text COLLATE "C" NOT NULL,
  conversions bigint NOT NULL,
  value       numeric NOT NULL,
  PRIMARY KEY (site, quarter, part, source, medium, campaign, click, other, matched, currency)
) WITH (fillfactor = 70);
CREATE INDEX attributions_quarter ON cc.attributions (quarter);

-- The position of the last of the "first" conversions of a quarter, once it has as many.
CREATE TABLE cc.attribution_limits (
  site     text COLLATE "C" NOT NULL,
  quarter  timestamptz(0) NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (site, quarter)
);
CREATE INDEX attribution_limits_quarter ON cc.attribution_limits (quarter);

-- Which identifiers conversions carried, by the connections that they were for.
CREATE TABLE cc.identifier_statistics (
  site        text COLLATE "C" NOT NULL,
  quarter     timestamptz(0) NOT NULL,
  -- Connections of the site when the conversions were received, with commas between.
  platforms   text COLLATE "C" NOT NULL,
  conversions bigint NOT NULL,
  -- How many carried each identifier, in the order of src/statistics/identifier-counts.ts.
  carried     bigint[] NOT NULL,
  PRIMARY KEY (site, quarter, platforms)
) WITH (fillfactor = 70);
CREATE INDEX identifier_statistics_quarter ON cc.identifier_statistics (quarter);
`;
