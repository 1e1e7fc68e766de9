import { useEffect, useId, useState } from 'preact/hooks';
import { outcomeWord } from '../../../kernel/outcome-words.js';
import { SYNC_STATUSES } from '../../../kernel/sync-statuses.js';
import type { Schemas } from '../api.js';
import { connectionTitle } from '../format.js';
import { fromLocal, toLocal } from '../local-time.js';
import { hasFilters, KINDS, SPANS, type SyncLogFilters, searchOf } from '../sync-log-filters.js';
import { reasonText } from '../views/reason-view.js';
import { Button } from './basics.js';
import { Choice, type Options } from './forms/fields.js';

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
  const { connection, status, kind, span, from, to } = filters;
  const searched = filters.conversion ?? filters.order ?? '';
  const [text, setText] = useState(searched);
  const [isCustom, setCustom] = useState(from !== undefined || to !== undefined);
  // A step back or forward changes the address. The fields are not replaced, because Enter would then lose the focus.
  useEffect(() => setText(searched), [searched]);
  useEffect(() => {
    if (span !== undefined) setCustom(false);
    else if (from !== undefined || to !== undefined) setCustom(true);
  }, [span, from, to]);
  // A connection in the address stays selectable, also after it was disconnected.
  const names = [...new Set([...connected, ...(connection === undefined ? [] : [connection])])];
  const chooseSpan = (value: string) => {
    setCustom(value === 'custom');
    if (value !== 'custom') onChange({ span: value, from: '', to: '' });
  };
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
      <Chip
        label="Time"
        all="All times"
        value={isCustom ? 'custom' : span}
        options={[...SPANS.map(([value, title]) => [value, title] as const), ['custom', 'Between …']]}
        onValue={chooseSpan}
      />
      {isCustom && (
        <>
          <Moment label="From" value={from} onValue={(time = '') => onChange({ span: '', from: time })} />
          <Moment label="Until" value={to} onValue={(time = '') => onChange({ span: '', to: time })} />
        </>
      )}
      {hasFilters(filters) && (
        <Button
          kind="quiet"
          label="Remove the filters"
          onClick={() => {
            setText('');
            setCustom(false);
            onChange(ALL);
          }}
        />
      )}
    </div>
  );
}

interface TextFilterProps {
  label: string;
  value: string | undefined;
  suggested: readonly string[];
  /** Title of a suggestion, in words. */
  titleOf?(value: string): string;
  onValue(value: string): void;
}

/** Applies when it is confirmed, left, or chosen from the suggestions. */
function TextFilter({ label, value = '', suggested, titleOf, onValue }: TextFilterProps) {
  const id = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <>
      <input
        type="search"
        class={value === '' ? 'chip' : 'chip set'}
        aria-label={label}
        placeholder={`+ ${label}`}
        list={id}
        maxLength={200}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          // The browser's button that clears the field.
          if (event.currentTarget.value === '' && value !== '') onValue('');
        }}
        onChange={() => text.trim() !== value && onValue(text.trim())}
      />
      <datalist id={id}>
        {[...new Set(suggested)].map((text) => (
          <option key={text} value={text} label={titleOf?.(text) ?? text} />
        ))}
      </datalist>
    </>
  );
}

interface ChipProps {
  label: string;
  /** What is shown while nothing is chosen. */
  all: string;
  value: string | undefined;
  options: Options;
  onValue(value: string): void;
}

/** A filter that stands out once it is set. */
function Chip({ all, value = '', options, ...choice }: ChipProps) {
  return (
    <Choice class={value === '' ? 'chip' : 'chip set'} value={value} options={[['', all], ...options]} {...choice} />
  );
}

interface MomentProps {
  label: string;
  /** A time, as the API reads it. */
  value: string | undefined;
  onValue(value: string | undefined): void;
}

/** A time in the viewer's zone. It is told when the field is left or Enter is pressed, not with each digit. */
function Moment({ label, value, onValue }: MomentProps) {
  const [text, setText] = useState(toLocal(value));
  useEffect(() => setText(toLocal(value)), [value]);
  const tell = () => text !== toLocal(value) && onValue(fromLocal(text));
  return (
    <input
      type="datetime-local"
      aria-label={label}
      title={label}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
      onBlur={tell}
      onKeyDown={(event) => event.key === 'Enter' && tell()}
    />
  );
}
