import { useEffect, useState } from 'preact/hooks';
import { connectionTitle } from '../format.js';
import { hasFilters } from '../sync-log-filters.js';
import { type Conversion, type ConversionFilters, OUTCOME_CHOICES, sourceOf } from '../views/conversions-view.js';
import { Button } from './basics.js';
import { Chip, TextFilter, TimeChoice } from './forms/filters.js';

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
  const [text, setText] = useState(order);
  // Also after a step back or forward.
  useEffect(() => setText(order), [order]);
  const names = [...new Set([...connected, ...(connection === undefined ? [] : [connection])])];
  return (
    <div class="filters">
      <search>
        <form
          onSubmit={(submitted) => {
            submitted.preventDefault();
            onChange({ order: text.trim() });
          }}
        >
          <input
            type="search"
            aria-label="Order"
            placeholder="Order id"
            value={text}
            onInput={({ currentTarget: { value } }) => {
              setText(value);
              // The browser's button that clears the field.
              if (value === '' && order !== '') onChange({ order: '' });
            }}
          />
          <button type="submit">Find</button>
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
      {hasFilters(filters) && <Button kind="quiet" label="Remove the filters" onClick={() => onChange(ALL)} />}
    </div>
  );
}
