import type { MigrationInterface } from 'typeorm';
import { EventLog0000000000001 } from './0001-event-log.js';
import { Sites0000000000002 } from './0002-sites.js';
import { Dispatch0000000000003 } from './0003-dispatch.js';
import { Visitors0000000000004 } from './0004-visitors.js';
import { Outbound0000000000007 } from './0007-outbound.js';
import { Kafka0000000000020 } from './0020-kafka.js';
import { Names0000000000021 } from './0021-names.js';
import { FencedAppend0000000000022 } from './0022-fenced-append.js';
import { DeliveryLeases0000000000023 } from './0023-delivery-leases.js';
import { RetentionHolds0000000000024 } from './0024-retention-holds.js';
import { GiveUpTime0000000000025 } from './0025-give-up-time.js';
import { Checkpoints0000000000026 } from './0026-checkpoints.js';
import { RemovedSites0000000000029 } from './0029-removed-sites.js';
import { ServiceLogin0000000000030 } from './0030-service-login.js';
import { VisitorTrust0000000000031 } from './0031-visitor-trust.js';
import { ScanFromTheStart0000000000032 } from './0032-scan-from-the-start.js';
import { RemovedStreams0000000000034 } from './0034-removed-streams.js';
import { Users0000000000037 } from './0037-users.js';
import { UserIdentity0000000000038 } from './0038-user-identity.js';
import { FirstAdministrator0000000000039 } from './0039-first-administrator.js';
import { PlatformSignIns0000000000040 } from './0040-platform-sign-ins.js';
import { Attempts0000000000041 } from './0041-attempts.js';
import { Statistics0000000000042 } from './0042-statistics.js';
import { Jobs0000000000043 } from './0043-jobs.js';
import { Once0000000000044 } from './0044-once.js';
import { AttributionSums0000000000045 } from './0045-attribution-sums.js';
import { JobIndexes0000000000046 } from './0046-job-indexes.js';
import { StaleAppend0000000000047 } from './0047-stale-append.js';
import { JobRestarts0000000000048 } from './0048-job-restarts.js';
import { LeftSecrets0000000000049 } from './0049-left-secrets.js';
import { FileStorage0000000000050 } from './0050-file-storage.js';
import { RemovedWebhooks0000000000051 } from './0051-removed-webhooks.js';
import { PausedSites0000000000052 } from './0052-paused-sites.js';
import { MovedSites0000000000053 } from './0053-moved-sites.js';
import { CopiedSites0000000000054 } from './0054-copied-sites.js';
import { MovingSites0000000000055 } from './0055-moving-sites.js';
import { SiteOrder0000000000056 } from './0056-site-order.js';
import { SiteMoves0000000000057 } from './0057-site-moves.js';
import { SitePlaces0000000000058 } from './0058-site-places.js';
import { SitesElsewhere0000000000059 } from './0059-sites-elsewhere.js';
import { MovedErasures0000000000061 } from './0061-moved-erasures.js';
import { CopiedClaims0000000000062 } from './0062-copied-claims.js';
import { LineageLeap0000000000063 } from './0063-lineage-leap.js';
import { CopiedDatabases0000000000064 } from './0064-copied-databases.js';
import { RecordedSessions0000000000065 } from './0065-recorded-sessions.js';
import { ProviderRoles0000000000066 } from './0066-provider-roles.js';
import { SiteFilters0000000000067 } from './0067-site-filters.js';
import { SiteOfAnswers0000000000068 } from './0068-site-of-answers.js';

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
  FencedAppend0000000000022,
  DeliveryLeases0000000000023,
  RetentionHolds0000000000024,
  GiveUpTime0000000000025,
  Checkpoints0000000000026,
  RemovedSites0000000000029,
  ServiceLogin0000000000030,
  VisitorTrust0000000000031,
  ScanFromTheStart0000000000032,
  RemovedStreams0000000000034,
  Users0000000000037,
  UserIdentity0000000000038,
  FirstAdministrator0000000000039,
  PlatformSignIns0000000000040,
  Attempts0000000000041,
  Statistics0000000000042,
  Jobs0000000000043,
  Once0000000000044,
  AttributionSums0000000000045,
  JobIndexes0000000000046,
  StaleAppend0000000000047,
  JobRestarts0000000000048,
  LeftSecrets0000000000049,
  FileStorage0000000000050,
  RemovedWebhooks0000000000051,
  PausedSites0000000000052,
  MovedSites0000000000053,
  CopiedSites0000000000054,
  MovingSites0000000000055,
  SiteOrder0000000000056,
  SiteMoves0000000000057,
  SitePlaces0000000000058,
  SitesElsewhere0000000000059,
  MovedErasures0000000000061,
  CopiedClaims0000000000062,
  LineageLeap0000000000063,
  CopiedDatabases0000000000064,
  RecordedSessions0000000000065,
  ProviderRoles0000000000066,
  SiteFilters0000000000067,
  SiteOfAnswers0000000000068,
];

/** The number at the end of a migration's name. */
export function schemaNumber(migration: string): number {
  return Number(/\d+$/.exec(migration)?.[0]);
}

/** The schema that this version works with: the number of its last migration. */
export const SCHEMA = Math.max(...MIGRATIONS.map((Migration) => schemaNumber(new Migration().name)));
