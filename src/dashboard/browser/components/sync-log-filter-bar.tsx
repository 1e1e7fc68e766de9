import { useState } from 'preact/hooks';
import { outcomeWord } from '../../../kernel/outcome-words.js';
import { SYNC_STATUSES } from '../../../kernel/sync-statuses.js';
import type { Schemas } from '../api.js';
import { hasFilters, KINDS, type SyncLogFilters, searchOf } from '../sync-log-filters.js';
import { reasonText } from '../views/reason-view.js';
import { Button } from './basics.js';
import { Chip, PlatformChoice, SearchField, TextFilter, TimeChoice } from './forms/filters.js';

interface SyncLogFilterBarProps {
  connected: readonly string[];
  /** Those shown, whose events and reasons are suggested. */
  lines: readonly Pick<Schemas['SyncLine'], 'event' | 'reason'>[];
  filters: SyncLogFilters;
  onChange(change: Readonly<Partial<Record<keyof SyncLogFilters, string>>>): void;
}

const ALL: Record<keyof SyncLogFilters, ''> = {
  ...{ connection: '', status: '', kind: '', order: '', conversion: '', event: '', reason: '' },
  ...{ span: '', from: '', to: '' },
};

export function SyncLogFilterBar({ connected, lines, filters, onChange }: SyncLogFilterBarProps) {
  const { connection, status, kind } = filters;
  // Also a text that was typed and not searched for is removed.
  const [removals, setRemovals] = useState(0);
  const removeAll = () => {
    setRemovals(removals + 1);
    onChange(ALL);
  };
  return (
    <div class="filters">
      <SearchField
        key={removals}
        label="Order or conversion id"
        placeholder="Order, conversion …"
        value={filters.conversion ?? filters.order ?? ''}
        onFind={(text) => onChange(searchOf(text))}
      />
      <PlatformChoice connected={connected} value={connection} onValue={(value) => onChange({ connection: value })} />
      <Chip
        label="Outcome"
        all="All outcomes"
        value={status}
        options={SYNC_STATUSES.map((name) => [name, name === 'rejected' ? 'refused later' : outcomeWord(name)])}
        onValue={(value) => onChange({ status: value })}
      />
      <TextFilter
        label="Event"
        value={filters.event}
        suggested={lines.flatMap(({ event }) => event ?? [])}
        onValue={(event) => onChange({ event })}
      />
      <TextFilter
        label="Reason"
        value={filters.reason}
        suggested={lines.flatMap(({ reason }) => reason ?? [])}
        titleOf={reasonText}
        onValue={(reason) => onChange({ reason })}
      />
      <Chip label="Kind" all="All kinds" value={kind} options={KINDS} onValue={(value) => onChange({ kind: value })} />
      <TimeChoice times={filters} onChange={onChange} />
      {hasFilters(filters) && <Button kind="quiet" label="Remove the filters" onClick={removeAll} />}
    </div>
  );
}
