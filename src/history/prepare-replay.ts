import type { ReplayRequest, ReplayStatus } from '../delivery/replay-deliveries.command.js';
import { UserError } from '../kernel/errors.js';
import type { EventLog } from '../log/event-log.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { connectionOf } from '../sites/connections/named-connection.js';
import type { Site } from '../sites/site.js';
import { type Bound, positionRangeOf } from './bound.js';
import { requireConversion, statusOf } from './conversion-history.js';

/** Which deliveries to repeat: of one conversion, or of those received in a range. */
export interface ReplaySelection {
  readonly platform: ConnectionName;
  readonly conversion?: string | undefined;
  readonly from?: Bound | undefined;
  readonly to?: Bound | undefined;
  readonly status?: ReplayStatus | undefined;
  readonly force?: boolean | undefined;
}

/** Checks a selection, and finds the positions of its range. */
export async function prepareReplay(
  log: EventLog,
  site: Site,
  { platform, conversion, from, to, status, force = false }: ReplaySelection,
): Promise<Pick<ReplayRequest, 'platform' | 'range' | 'statuses' | 'force'>> {
  connectionOf(site, platform);
  if (conversion === undefined && from === undefined)
    throw new UserError('Select conversions by the start of a range, or one by its id.');
  if (force && conversion === undefined)
    throw new UserError('A forced delivery makes a conversion count twice, so it requires the id of one conversion.');
  const range =
    conversion === undefined
      ? await positionRangeOf(log, { from, to }, site)
      : await requireReceived(log, site, conversion);
  return { platform, range, statuses: status === undefined ? ['failed', 'skipped'] : [status], force };
}

async function requireReceived(log: EventLog, site: Site, conversion: string): Promise<{ conversion: string }> {
  const [opening] = await requireConversion(log, site, conversion);
  if (opening.type === 'conversion.received.v1') return { conversion: conversion.toLowerCase() };
  throw new UserError(
    `Conversion ${conversion} was ${statusOf(opening)}, so it is not sent. "events show --conversion ${conversion}" shows why.`,
  );
}
