import { type Actor, Command } from '../kernel/command.js';
import type { ConnectionName } from '../platforms/connection-name.js';

/** Statuses that are not final, or that can change after an intervention. `not_connected`: connected after the receipt. */
export const REPLAY_STATUSES = ['failed', 'skipped', 'queued', 'not_connected'] as const;
export type ReplayStatus = (typeof REPLAY_STATUSES)[number];

export interface ReplayRequest {
  readonly site: string;
  readonly platform: ConnectionName;
  /** A position range (`after` exclusive, `until` inclusive), or one conversion. */
  readonly range: { readonly after: number; readonly until: number } | { readonly conversion: string };
  /** The newest version of the site's stream. */
  readonly siteVersion: number;
  readonly statuses: readonly ReplayStatus[];
  /** The database's time. A conversion that was received just now is being attempted. */
  readonly nowMs: number;
  /** Deliver again under a new event id, whatever the status. */
  readonly force: boolean;
  readonly dryRun: boolean;
}

export interface ReplayCounts {
  /** Deliveries that were requested, or would be in a dry run. */
  requested: number;
  /** All conversions that were examined, by status at the platform. */
  readonly byStatus: Record<string, number>;
}

/** Requests deliveries of conversions that the platform has not accepted. */
export class ReplayDeliveries extends Command<ReplayCounts> {
  constructor(
    readonly actor: Actor,
    readonly request: ReplayRequest,
  ) {
    super();
  }
}
