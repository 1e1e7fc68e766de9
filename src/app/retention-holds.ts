import { deliveryHolds } from '../delivery/retention-holds.js';
import { kafkaHolds } from '../kafka/retention-holds.js';
import type { Settings } from '../kernel/settings.js';
import type { EventLog } from '../log/event-log.js';
import type { ProjectionRunner } from '../log/projection-runner.js';
import type { HoldSource } from '../log/retention-holds.js';
import { moveHolds } from '../moves/departures.js';
import { webhookHolds } from '../outbound/retention-holds.js';
import type { Postgres } from '../postgres/postgres.js';
import type { SiteRepository } from '../sites/site-repository.js';
import { lateMatchHolds } from '../visitors/retention-holds.js';

export interface HoldDependencies {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: SiteRepository;
  readonly projections: ProjectionRunner;
  readonly settings: Settings;
}

/** Everything that retention waits for, besides the registered readers. */
export function allHolds(dependencies: HoldDependencies): HoldSource[] {
  const { postgres, log, sites, projections, settings } = dependencies;
  return [
    projections.holds(),
    deliveryHolds(postgres, projections),
    webhookHolds(log, sites, { disabledHoldMs: settings.logRetentionMs, nowMs: () => postgres.clock.nowMs() }),
    lateMatchHolds(postgres.pool),
    kafkaHolds(postgres.pool),
    moveHolds(postgres.pool),
  ];
}
