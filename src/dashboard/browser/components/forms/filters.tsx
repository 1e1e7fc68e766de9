import { useEffect, useId, useState } from 'preact/hooks';
import { connectionTitle } from '../../format.js';
import { fromLocal, toLocal } from '../../local-time.js';
import { SPANS, type TimeFilter } from '../../time-filter.js';
import { Choice, type Options } from './fields.js';

interface TimeChoiceProps {
  times: TimeFilter;
  onChange(change: Readonly<Record<keyof TimeFilter, string>>): void;
}

/** A span that ends now, or two times. */
export function TimeChoice({ times: { span, from = '', to = '' }, onChange }: TimeChoiceProps) {
  const hasTimes = from !== '' || to !== '';
  const [isCustom, setCustom] = useState(hasTimes);
  // A step back or forward changes the address, and so does the removal of all filters.
  useEffect(() => setCustom(span === undefined && hasTimes), [span, hasTimes]);
  const choose = (value: string) => {
    setCustom(value === 'custom');
    if (value !== 'custom') onChange({ span: value, from: '', to: '' });
  };
  return (
    <>
      <Chip
        label="Time"
        all="All times"
        value={isCustom ? 'custom' : span}
        options={[...SPANS.map(([value, title]) => [value, title] as const), ['custom', 'Between …']]}
        onValue={choose}
      />
      {isCustom && (
        <>
          <Moment
            label="From"
            value={from || undefined}
            onValue={(time = '') => onChange({ span: '', from: time, to })}
          />
          <Moment
            label="Until"
            value={to || undefined}
            onValue={(time = '') => onChange({ span: '', from, to: time })}
          />
        </>
      )}
    </>
  );
}

interface SearchFieldProps {
  label: string;
  placeholder: string;
  /** What is searched for. */
  value: string;
  /** With a button, besides Enter. */
  verb?: string;
  onFind(text: string): void;
}

/** Applies when it is confirmed or cleared. A step back or forward changes the value; the field is not replaced, and keeps the focus. */
export function SearchField({ label, placeholder, value, verb, onFind }: SearchFieldProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onFind(text.trim());
        }}
      >
        <input
          type="search"
          aria-label={label}
          placeholder={placeholder}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            // The browser's button that clears the field.
            if (event.currentTarget.value === '' && value !== '') onFind('');
          }}
        />
        {verb && <button type="submit">{verb}</button>}
      </form>
    </search>
  );
}

interface PlatformChoiceProps {
  connected: readonly string[];
  value: string | undefined;
  onValue(value: string): void;
}

/** A connection in the address stays selectable, also after it was disconnected. */
export function PlatformChoice({ connected, value, onValue }: PlatformChoiceProps) {
  const names = [...new Set([...connected, ...(value === undefined ? [] : [value])])];
  return (
    <Chip
      label="Platform"
      all="All platforms"
      value={value}
      options={names.map((name) => [name, connectionTitle(name)])}
      onValue={onValue}
    />
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
export function TextFilter({ label, value = '', suggested, titleOf, onValue }: TextFilterProps) {
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
export function Chip({ all, value = '', options, ...choice }: ChipProps) {
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
