import { useEffect, useState } from 'preact/hooks';
import { fromLocal, toLocal } from '../local-time.js';

interface MomentProps {
  label: string;
  /** A time, as the API reads it. */
  value: string | undefined;
  onValue(value: string | undefined): void;
}

/** A time in the viewer's zone. It is told when the field is left or Enter is pressed, not with each digit. */
export function Moment({ label, value, onValue }: MomentProps) {
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
