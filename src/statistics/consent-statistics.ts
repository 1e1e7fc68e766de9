import type { ClientBase } from 'pg';
import type { Outcome } from '../events/delivery.events.js';
import type { StoredEvent } from '../log/event.js';
import type { PageRow, Reducer } from '../log/projections/reducer.js';
import { platformOf } from '../platforms/index.js';
import { meaningOf } from '../visitors/consent.js';
import { addToRows } from './add-to-rows.js';
import { quarterOf } from './counted-conversion.js';

/** A number of `cc.consent_statistics`. */
interface ConsentCount {
  readonly site: string;
  readonly quarter: string;
  readonly platform: string;
  readonly denials?: 1;
  readonly unknown?: 1;
}

/** Statements of visitors from Europe that withhold, and conversions that platforms refused because they do not know the consent. */
export const CONSENT: Reducer<ConsentCount[]> = {
  types: ['visitor.consent_changed.v1', 'conversion.rejected.v1', 'conversion.failed.v1'],
  start: () => [],
  add(counts, row) {
    const counted = countedConsent(row);
    if (counted) counts.push({ site: row.site, quarter: quarterOf(row.timeMs), ...counted });
  },
};

function countedConsent(row: PageRow): Omit<ConsentCount, 'site' | 'quarter'> | undefined {
  if (row.type === 'visitor.consent_changed.v1') {
    const { consent, europe } = row.data() as StoredEvent<typeof row.type>['data'];
    const meaning = europe && meaningOf(consent);
    return meaning === 'denied' || meaning === 'undecided' ? { platform: '', denials: 1 } : undefined;
  }
  const { platform, reason = '', uncounted } = row.data() as Outcome;
  const lacksConsent = uncounted === undefined && platformOf(platform)?.lacksConsent?.(reason) === true;
  return lacksConsent ? { platform, unknown: 1 } : undefined;
}

export async function foldConsent(tx: ClientBase, counts: readonly ConsentCount[]): Promise<void> {
  const keys = { site: 'text', quarter: 'timestamptz', platform: 'text' } as const;
  await addToRows(tx, 'consent_statistics', keys, { denials: 'bigint', unknown: 'bigint' }, counts);
}
