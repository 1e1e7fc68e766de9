import { IMPORT_KEY_ID } from '../../events/conversion.events.js';
import { LOG } from '../../events/log.events.js';
import { SITE } from '../../events/site.events.js';
import { USER } from '../../events/user.events.js';
import { counted } from '../../kernel/counted.js';
import type { SealedRow } from '../../log/audit/sealed-row.js';
import type { EventCheck } from '../verify.js';
import { Violations } from './violations.js';

const KEY_ACTOR = 'key:';
/** Categories whose events belong to no site. */
const WITHOUT_SITE: readonly string[] = [LOG, USER];

/** The site of every event was registered before it, and had the API key or the source that the event names. */
export function originsCheck(): EventCheck {
  const violations = new Violations();
  const sites = new Set<string>();
  const keys = new Set<string>();
  let events = 0;
  const checkKey = (row: SealedRow, keyId: unknown) => {
    if (!keys.has(`${row.site} ${keyId}`))
      violations.add(`the ${row.type} at position ${row.position} names a key that ${row.site} did not have then`);
  };
  return {
    name: 'origins',
    read(row) {
      const { type, site, actor } = row;
      if (type.startsWith(`${SITE}.`)) apply(row, sites, keys);
      if (WITHOUT_SITE.includes(row.category)) return;
      events += 1;
      if (!sites.has(site))
        violations.add(`the ${type} at position ${row.position} belongs to ${site}, which did not exist then`);
      const keyId = OPENINGS.has(type) ? (row.data() as { keyId?: string }).keyId : undefined;
      const isImported = keyId === IMPORT_KEY_ID && /^cli(:|$)/.test(actor);
      if (keyId !== undefined && !isImported) checkKey(row, keyId);
      if (!actor.startsWith(KEY_ACTOR)) return;
      const actorKey = actor.slice(KEY_ACTOR.length);
      if (keyId === undefined) checkKey(row, actorKey);
      else if (keyId !== actorKey)
        violations.add(`the ${type} at position ${row.position} names another key than the one that sent it`);
    },
    finish() {
      return violations.findingOfLog(
        `${counted(events, 'event')} of ${counted(sites.size, 'site')} with ${counted(keys.size, 'key')}`,
      );
    },
  };
}

const OPENINGS: ReadonlySet<string> = new Set([
  'conversion.received.v1',
  'conversion.deduplicated.v1',
  'conversion.filtered.v1',
]);

/** Conversions name the connection of a source where others name an API key. */
const NAMES_KEY: ReadonlySet<string> = new Set(['site.key_issued.v1', 'site.source_connected.v1']);

function apply(row: SealedRow, sites: Set<string>, keys: Set<string>): void {
  if (row.type === 'site.registered.v1') sites.add(row.site);
  if (NAMES_KEY.has(row.type)) keys.add(`${row.site} ${(row.data() as { keyId: string }).keyId}`);
}
