import { useState } from 'preact/hooks';
import { hasFilters } from '../sync-log-filters.js';
import { type Conversion, type ConversionFilters, OUTCOME_CHOICES, sourceOf } from '../views/conversions-view.js';
import { Button } from './basics.js';
import { Chip, PlatformChoice, SearchField, TextFilter, TimeChoice } from './forms/filters.js';

interface ConversionFilterBarProps {
  connected: readonly string[];
  /** Those shown, whose events and sources are suggested. */
  conversions: readonly Conversion[];
  filters: ConversionFilters;
  onChange(change: Readonly<Partial<Record<keyof ConversionFilters, string>>>): void;
}

const ALL: Record<keyof ConversionFilters, ''> = {
  ...{ order: '', connection: '', outcome: '', event: '', source: '' },
  ...{ span: '', from: '', to: '' },
};

export function ConversionFilterBar({ connected, conversions, filters, onChange }: ConversionFilterBarProps) {
  const { order = '', connection, outcome, event, source } = filters;
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
        label="Order"
        placeholder="Order id"
        value={order}
        verb="Find"
        onFind={(text) => onChange({ order: text })}
      />
      <PlatformChoice connected={connected} value={connection} onValue={(value) => onChange({ connection: value })} />
      <Chip
        label="Outcome"
        all="All outcomes"
        value={outcome}
        options={OUTCOME_CHOICES}
        onValue={(value) => onChange({ outcome: value })}
      />
      <TextFilter
        label="Event"
        value={event}
        suggested={conversions.map((conversion) => conversion.event)}
        onValue={(value) => onChange({ event: value })}
      />
      <TextFilter
        label="Source"
        value={source}
        suggested={conversions.flatMap((conversion) => sourceOf(conversion) ?? [])}
        onValue={(value) => onChange({ source: value })}
      />
      <TimeChoice times={filters} onChange={onChange} />
      {hasFilters(filters) && <Button kind="quiet" label="Remove the filters" onClick={removeAll} />}
    </div>
  );
}
