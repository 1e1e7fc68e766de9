import { useState } from 'preact/hooks';
import { fromLocal, toLocal } from '../local-time.js';

interface MomentProps {
  /** A time, as the API reads it. */
  value: string | undefined;
  onValue(value: string | undefined): void;
  id?: string;
  label?: string;
  required?: boolean;
}

/** A time in the viewer's zone. It is told when the field is left or Enter is pressed, not with each digit. */
export function Moment({ value, onValue, label, ...input }: MomentProps) {
  const [text, setText] = useState(toLocal(value));
  const commit = () => fromLocal(text) !== value && onValue(fromLocal(text));
  return (
    <input
      {...input}
      type="datetime-local"
      aria-label={label}
      title={label}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => event.key === 'Enter' && commit()}
    />
  );
}
