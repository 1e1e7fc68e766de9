import { useState } from 'preact/hooks';
import { Button } from '../basics.js';

interface ListEditorProps {
  label: string;
  placeholder: string;
  values: readonly string[];
  isReadOnly: boolean;
  onChange(entry: { add: string } | { remove: string }): Promise<boolean>;
}

/** A list of texts. Each entry is added and removed by itself, so that two people can change one list. */
export function ListEditor({ label, placeholder, values, isReadOnly, onChange }: ListEditorProps) {
  const [text, setText] = useState('');
  const add = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === '') return;
    // What was refused stays, to be corrected.
    if (await onChange({ add: text.trim() })) setText('');
  };
  return (
    <div class="pad list">
      {values.length > 0 && (
        <ul>
          {values.map((value) => (
            <li key={value}>
              <code>{value}</code>
              {!isReadOnly && (
                <Button kind="quiet" label="✕" name={`Remove ${value}`} onClick={() => onChange({ remove: value })} />
              )}
            </li>
          ))}
        </ul>
      )}
      {values.length === 0 && <p class="dim">None.</p>}
      {!isReadOnly && (
        <form onSubmit={(event) => void add(event)}>
          <input
            aria-label={`Add: ${label}`}
            placeholder={placeholder}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit">Add</button>
        </form>
      )}
    </div>
  );
}
