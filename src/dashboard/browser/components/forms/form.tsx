import { type ComponentChildren, createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { type Action, useAction } from '../../hooks/use-data.js';
import { fieldError, type Problem } from '../../problem.js';
import { ProblemNote } from '../states.js';

const FormProblem = createContext<Problem | undefined>(undefined);

/** What the API said is wrong with a field of the form around it. */
export function useFieldError(name: string | undefined): string | undefined {
  return fieldError(useContext(FormProblem), name);
}

export interface FormProps {
  /** What the button that submits says. */
  verb: string;
  class?: string;
  isDangerous?: boolean;
  /** Another button is the one that comes next. */
  isMinor?: boolean;
  /** Without buttons. */
  isReadOnly?: boolean;
  /** False while there is nothing to submit. */
  isReady?: boolean;
  /** Before the one that submits. */
  otherButtons?: ComponentChildren;
  /** Of what else is done in the form and may fail. */
  action?: Action;
  onSubmit(): Promise<unknown>;
  children: ComponentChildren;
}

/** Fields, what is wrong with them or with the request, and the button that submits: one request at a time. */
export function Form(props: FormProps) {
  const { verb, isDangerous, isMinor, isReadOnly, isReady = true, otherButtons, onSubmit, children } = props;
  const own = useAction();
  const { isBusy, problem, run } = props.action ?? own;
  return (
    <form
      class={props.class}
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void run(onSubmit);
      }}
    >
      <FormProblem.Provider value={problem}>{children}</FormProblem.Provider>
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
