import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { returnFocus } from '../../focus.js';
import type { Action } from '../../hooks/use-data.js';
import { ProblemNote } from '../states.js';

interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
}

/** The browser's own dialog: it keeps the focus inside and closes with Escape. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      returnFocus(opener);
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface FormDialogProps extends DialogProps {
  action: Action;
  /** What the button that submits says. */
  verb: string;
  isDangerous?: boolean;
  /** False while there is nothing to submit. */
  isReady?: boolean;
  onSubmit(): void;
}

export function FormDialog(props: FormDialogProps) {
  const { title, action, verb, isDangerous, isReady = true, onSubmit, onClose, children } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
        <ProblemNote problem={action.problem} />
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={action.isBusy || !isReady}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
