import { type Delivery, foldDeliveries, isOutcome } from '../../delivery/delivery.js';
import { CONVERSION } from '../../events/conversion.events.js';
import { SITE } from '../../events/site.events.js';
import { counted } from '../../kernel/counted.js';
import { INTERVALS } from '../../kernel/intervals.js';
import type { StoredEvent } from '../../log/event.js';
import { isHeldBack } from '../../sites/connections/connection.js';
import { evolve, isHeld, type Site, type SiteScope, scopeStart } from '../../sites/site.js';
import type { IsPartial, StreamCheck } from '../verify.js';
import { Violations } from './violations.js';

/** How late an attempt may be: the lease of an instance that died must end first, and queues may be busy. */
const LATE_MAX_MS = 15 * 60_000;

/** Ends of what had held all deliveries of a site back. */
const CONTINUED: readonly string[] = ['site.resumed.v1', 'site.move_cancelled.v1', 'site.moved_in.v1'];

/** A site's connection to a platform, and the deliveries that wait for it. */
class ConnectionState {
  isHeldBack = false;
  /** When the connection last worked on deliveries, or could again. */
  activeMs = Number.NEGATIVE_INFINITY;
  /** Deliveries that wait for an attempt, and where those are that are late. */
  waiting = 0;
  readonly late: string[] = [];
}

/** A site, and its deliveries that were never attempted. */
class SiteState {
  isHeld = false;
  /** When its deliveries last began again. */
  continuedMs = Number.NEGATIVE_INFINITY;
  unattempted = 0;
  readonly late: string[] = [];
}

/**
 * Every delivery has a final outcome, or its schedule explains why not: its next attempt is not due, its site or connection is
 * paused, its connection is parked, or the connection works on a backlog. A conversion without any outcome is explained by its age and
 * its site only: a connection that is held back has an outcome. `scopes`: the sites that have their hosts now.
 */
export function owedCheck(
  isPartial: IsPartial,
  nowMs: number,
  scopes: readonly (SiteScope & Pick<Site, 'move'>)[] = [],
): StreamCheck {
  const starts = new Map(scopes.map((scope) => [scope.host, scopeStart(scope)]));
  const moving = new Set(scopes.flatMap(({ host, move }) => (move ? [host] : [])));
  const violations = new Violations();
  const connections = new Map<string, ConnectionState>();
  const sites = new Map<string, SiteState>();
  let owed = 0;
  let oldestMs = Number.POSITIVE_INFINITY;

  const connectionOf = (site: string, platform: string) => {
    const key = `${platform} of ${site}`;
    const found = connections.get(key) ?? new ConnectionState();
    connections.set(key, found);
    return found;
  };
  const siteOf = (host: string) => {
    const found = sites.get(host) ?? new SiteState();
    sites.set(host, found);
    return found;
  };
  const readDelivery = (delivery: Delivery, stream: readonly StoredEvent[]) => {
    const first = stream[0] as StoredEvent;
    const { platform } = delivery;
    const dueMs = dueAt(delivery, stream);
    if (dueMs === undefined) return;
    owed += 1;
    oldestMs = Math.min(oldestMs, Date.parse(first.time));
    const connection = connectionOf(first.site, platform);
    const where = `${first.stream} at position ${first.position}: ${platform} was due ${new Date(dueMs).toISOString()}`;
    const isLate = nowMs - dueMs > LATE_MAX_MS;
    if (stream.some((event) => 'platform' in event.data && event.data.platform === platform)) {
      connection.waiting += 1;
      if (isLate) connection.late.push(where);
    } else {
      const site = siteOf(first.site);
      site.unattempted += 1;
      if (isLate) site.late.push(`${where} and has no outcome`);
    }
  };

  return {
    name: 'owed',
    read(stream) {
      const [first] = stream;
      if (first?.stream.startsWith(`${SITE}-`)) {
        const site = stream.reduce(evolve, undefined);
        const resumed = stream.findLast(({ type }) => CONTINUED.includes(type));
        const state = siteOf(first.site);
        state.isHeld = site !== undefined && (isHeld(site) || moving.has(first.site));
        if (resumed) state.continuedMs = Math.max(state.continuedMs, Date.parse(resumed.time));
        for (const connection of site?.connections ?? []) {
          const found = connectionOf(first.site, connection.platform);
          found.isHeldBack = state.isHeld || isHeldBack(connection);
          const sinceMs = Math.max(Date.parse(connection.since), Date.parse(resumed?.time ?? connection.since));
          if (!found.isHeldBack) found.activeMs = Math.max(found.activeMs, sinceMs);
        }
        return;
      }
      if (!first?.stream.startsWith(`${CONVERSION}-`) || (isPartial(first.site) && first.version > 1)) return;
      for (const event of stream) {
        if (!isOutcome(event)) continue;
        const connection = connectionOf(event.site, event.data.platform);
        connection.activeMs = Math.max(connection.activeMs, Date.parse(event.time));
      }
      // Nothing is sent any more for an earlier site with the host.
      if (first.position <= (starts.get(first.site) ?? 0)) return;
      for (const delivery of foldDeliveries(stream)) readDelivery(delivery, stream);
    },
    finish() {
      let held = 0;
      for (const connection of connections.values()) {
        // The reason of the last attempt does not tell: the connection may have been parked, or resumed, since.
        if (connection.isHeldBack) held += connection.waiting;
        else if (nowMs - connection.activeMs > LATE_MAX_MS) for (const where of connection.late) violations.add(where);
      }
      for (const site of sites.values()) {
        if (site.isHeld) held += site.unattempted;
        else if (nowMs - site.continuedMs > LATE_MAX_MS) for (const where of site.late) violations.add(where);
      }
      if (owed === 0) return violations.finding('no delivery');
      const since = `the oldest conversion is of ${new Date(oldestMs).toISOString()}`;
      return violations.finding(
        `${counted(owed, 'delivery', 'deliveries')}, ${held} of them held back by their site or connection; ${since}`,
      );
    },
  };
}

/** When the next attempt is due; undefined if the outcome is final, or only the platform's confirmation is missing. */
function dueAt({ platform, last }: Delivery, stream: readonly StoredEvent[]): number | undefined {
  if (last) return last.status === 'deferred' ? Date.parse(last.nextTry ?? '') : undefined;
  const requested = stream.findLast((event) => 'platform' in event.data && event.data.platform === platform);
  if (requested) return Date.parse(requested.time);
  return Date.parse((stream[0] as StoredEvent).time) + INTERVALS.attempts.owedAfterMs;
}
