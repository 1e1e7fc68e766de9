import type { EventLog } from '../log/event-log.js';
import { type SiteScope, scopeStart } from '../sites/site.js';
import { pageBackwards } from './page-backwards.js';

const VISIT_TYPES = ['visitor.visited.v1', 'visitor.identified.v1'] as const;

export interface LastVisit {
  /** Time of the newest call of the tag. Undefined if there is none among what was searched. */
  readonly seenAt?: string;
  /** Host of the page that called, unless the person was erased. */
  readonly host?: string;
  /** Whether all events were searched. A page of a long log takes a second at most. */
  readonly isComplete: boolean;
}

/** When the tag of a site last reported a visit, and from which host. */
export async function findLastVisit(log: EventLog, site: SiteScope): Promise<LastVisit> {
  const before = (await log.head()) + 1;
  const { events, next } = await pageBackwards<(typeof VISIT_TYPES)[number]>(log, {
    ...{ site: site.host, after: scopeStart(site), types: VISIT_TYPES, before, limit: 1 },
  });
  const [visit] = events;
  if (!visit) return { isComplete: next === undefined };
  const host = hostOf(visit.personal?.page);
  return { seenAt: visit.time, ...(host !== undefined && { host }), isComplete: true };
}

/** The browser states the page: it may be anything. */
function hostOf(page: string | undefined): string | undefined {
  return page !== undefined && URL.canParse(page) ? new URL(page).host : undefined;
}
