import { useEffect, useState } from 'preact/hooks';
import { outcomeWord } from '../../../kernel/outcome-words.js';
import { SYNC_STATUSES } from '../../../kernel/sync-statuses.js';
import type { Schemas } from '../api.js';
import { connectionTitle } from '../format.js';
import { hasFilters, KINDS, type SyncLogFilters, searchOf } from '../sync-log-filters.js';
import { reasonText } from '../views/reason-view.js';
import { Button } from './basics.js';
import { Chip, TextFilter, TimeChoice } from './forms/filters.js';

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
  const searched = filters.conversion ?? filters.order ?? '';
  const [text, setText] = useState(searched);
  // A step back or forward changes the address. The fields are not replaced, because Enter would then lose the focus.
  useEffect(() => setText(searched), [searched]);
  // A connection in the address stays selectable, also after it was disconnected.
  const names = [...new Set([...connected, ...(connection === undefined ? [] : [connection])])];
  return (
    <div class="filters">
      <search>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            onChange(searchOf(text));
          }}
        >
          <input
            type="search"
            aria-label="Order or conversion id"
            placeholder="Order, conversion …"
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              // The browser's button that clears the field.
              if (event.currentTarget.value === '' && (filters.order || filters.conversion)) onChange(searchOf(''));
            }}
          />
        </form>
      </search>
      <Chip
        label="Platform"
        all="All platforms"
        value={connection}
        options={names.map((name) => [name, connectionTitle(name)])}
        onValue={(value) => onChange({ connection: value })}
      />
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
      {hasFilters(filters) && (
        <Button
          kind="quiet"
          label="Remove the filters"
          onClick={() => {
            setText('');
            onChange(ALL);
          }}
        />
      )}
    </div>
  );
}
