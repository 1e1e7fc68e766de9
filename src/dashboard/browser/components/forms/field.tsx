import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  help?: ComponentChildren;
  error?: string | undefined;
  /** The control; `id` ties it to its label, `describedBy` to the help and the error. */
  children: (props: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ComponentChildren;
}

export function Field({ label, help, error, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-help`, 'aria-invalid': error !== undefined })}
      <div id={`${id}-help`} class="help">
        {error !== undefined && <p class="error">{error}</p>}
        {help}
      </div>
    </div>
  );
}

type Attribute =
  | 'autocomplete'
  | 'autofocus'
  | 'maxLength'
  | 'minLength'
  | 'pattern'
  | 'placeholder'
  | 'readOnly'
  | 'required';

type InputProps = Pick<JSX.IntrinsicElements['input'], Attribute> & {
  type?: 'text' | 'email' | 'password' | 'url';
  label: string;
  help?: ComponentChildren;
  error?: string | undefined;
  value: string;
  onValue(value: string): void;
};

export function TextField({ label, help, error, onValue, ...input }: InputProps) {
  return (
    <Field label={label} help={help} error={error}>
      {(control) => (
        // The types tie every kind of input to its roles, of which none is set here.
        <input {...(input as { type: 'text' })} {...control} onInput={(event) => onValue(event.currentTarget.value)} />
      )}
    </Field>
  );
}

interface SelectProps {
  label: string;
  help?: ComponentChildren;
  value: string;
  options: readonly (readonly [value: string, title: string])[];
  onValue(value: string): void;
  disabled?: boolean;
}

export function SelectField({ label, help, value, options, onValue, disabled }: SelectProps) {
  return (
    <Field label={label} help={help}>
      {(control) => (
        <select
          {...control}
          value={value}
          disabled={disabled === true}
          onChange={(event) => onValue(event.currentTarget.value)}
        >
          {options.map(([option, title]) => (
            <option key={option} value={option}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckProps {
  label: string;
  help?: ComponentChildren;
  checked: boolean;
  onValue(checked: boolean): void;
  disabled?: boolean;
}

export function CheckField({ label, help, checked, onValue, disabled }: CheckProps) {
  const id = useId();
  return (
    <div class="field check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled === true}
        aria-describedby={`${id}-help`}
        onChange={(event) => onValue(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      <div id={`${id}-help`} class="help">
        {help}
      </div>
    </div>
  );
}
