import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useId, useRef, useState } from 'preact/hooks';
import { type Action, useAction } from '../../hooks/use-data.js';
import { fieldError, type Problem } from '../../problem.js';
import { markChanged, useUnsaved } from '../../unsaved.js';
import { ProblemNote } from '../frame.js';

/** What fields know of the form around them. */
const FormState = createContext<{ problem?: Problem | undefined; isReadOnly?: boolean }>({});

export interface FormProps {
  /** What the button that submits says. */
  verb: string;
  class?: string;
  isDangerous?: boolean;
  /** Another button is the one that comes next. */
  isMinor?: boolean;
  /** Without buttons, and nothing can be entered. */
  isReadOnly?: boolean;
  /** False while there is nothing to submit. */
  isReady?: boolean;
  /** Whether leaving it would lose something. Otherwise: since something was entered. */
  isChanged?: boolean;
  /** Before the one that submits. */
  otherButtons?: ComponentChildren;
  /** Of what else is done in the form and may fail. */
  action?: Action;
  onSubmit(): Promise<unknown>;
  children: ComponentChildren;
}

/** Fields, what is wrong with them or with the request, and the button that submits: one request at a time. */
export function Form(props: FormProps) {
  const { verb, isDangerous, isMinor, isReadOnly = false, isReady = true, otherButtons, onSubmit, children } = props;
  const own = useAction();
  const { isBusy, problem, run } = props.action ?? own;
  const form = useRef<HTMLFormElement>(null);
  useUnsaved(form, props.isChanged);
  const submit = async () => {
    await onSubmit();
    if (form.current) markChanged(form.current, false);
  };
  return (
    <form
      ref={form}
      class={props.class}
      // Not a state: rendering between the events "input" and "change" of a checkbox would take its change back.
      onInput={(event) => props.isChanged === undefined && markChanged(event.currentTarget, true)}
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void run(submit);
      }}
    >
      <FormState.Provider value={{ problem, isReadOnly }}>{children}</FormState.Provider>
      <ProblemNote problem={problem} />
      {!isReadOnly && (
        <div class="buttons">
          {otherButtons}
          <button type="submit" class={isDangerous ? 'danger' : isMinor ? '' : 'primary'} disabled={isBusy || !isReady}>
            {verb}
          </button>
        </div>
      )}
    </form>
  );
}

/** Ties fields to the values of a form: `<TextField label="Name" {...field('name')} />`. */
export function fieldsOf<Values extends object>(values: Values, set: (part: Partial<Values>) => void) {
  return <Name extends keyof Values & string>(name: Name) => ({
    name,
    value: values[name],
    onValue: (value: Values[Name]) => set({ [name]: value } as unknown as Partial<Values>),
  });
}

/** The values of a form. */
export function useFields<Values extends object>(initial: Values) {
  const [values, setValues] = useState(initial);
  const set = (part: Partial<Values>) => setValues((before) => ({ ...before, ...part }));
  return { values, set, field: fieldsOf(values, set) };
}

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

interface Named<Value> {
  label: string;
  help?: ComponentChildren;
  /** As the API names it: its error is shown at the field. */
  name?: string;
  value: Value;
  onValue(value: Value): void;
}

type Attribute = 'autocomplete' | 'autofocus' | 'maxLength' | 'minLength' | 'pattern' | 'placeholder' | 'required';

interface TextFieldProps extends Named<string>, Pick<JSX.IntrinsicElements['input'], Attribute> {
  type?: 'text' | 'email' | 'password' | 'url' | 'datetime-local';
  /** In place of that of the API. */
  error?: string | undefined;
}

export function TextField({ label, help, name, error, onValue, ...input }: TextFieldProps) {
  const { problem, isReadOnly = false } = useContext(FormState);
  return (
    <Field label={label} help={help} error={error ?? fieldError(problem, name)}>
      {(control) => (
        // The types tie every kind of input to its roles, of which none is set here.
        <input
          {...(input as { type: 'text' })}
          {...control}
          readOnly={isReadOnly}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export type Options<Value extends string = string> = readonly (readonly [value: Value, title: string])[];

interface SelectProps<Value extends string> extends Named<Value> {
  options: Options<Value>;
  isDisabled?: boolean;
}

export function SelectField<Value extends string>({ label, help, ...select }: SelectProps<Value>) {
  const { value, options, onValue, isDisabled = false } = select;
  const { isReadOnly = false } = useContext(FormState);
  return (
    <Field label={label} help={help}>
      {(control) => (
        <select
          {...control}
          value={value}
          disabled={isDisabled || isReadOnly}
          onChange={(event) => onValue(event.currentTarget.value as Value)}
        >
          <OptionList options={options} />
        </select>
      )}
    </Field>
  );
}

function OptionList({ options }: { options: Options }) {
  return (
    <>
      {options.map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </>
  );
}

interface ChoiceProps<Value extends string> {
  label: string;
  class?: string;
  value: Value;
  options: Options<Value>;
  onValue(value: Value): void;
}

/** A choice in a row of buttons or filters, which has no room for a label that is seen. */
export function Choice<Value extends string>({ label, value, options, onValue, ...props }: ChoiceProps<Value>) {
  return (
    <select
      class={props.class}
      aria-label={label}
      value={value}
      onChange={(event) => onValue(event.currentTarget.value as Value)}
    >
      <OptionList options={options} />
    </select>
  );
}

export function CheckField({
  label,
  help,
  value,
  onValue,
  isDisabled = false,
}: Named<boolean> & { isDisabled?: boolean }) {
  const { isReadOnly = false } = useContext(FormState);
  const id = useId();
  return (
    <div class="field check">
      <input
        id={id}
        type="checkbox"
        checked={value}
        disabled={isDisabled || isReadOnly}
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
