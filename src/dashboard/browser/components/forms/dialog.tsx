import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { returnFocus } from '../../focus.js';
import { mayLeave } from '../../unsaved.js';
import { Button, CopyText } from '../basics.js';
import { Form, type FormProps, TextField } from './fields.js';

interface DialogProps {
  title: string;
  /** Label of a button that closes it. */
  closeLabel?: string;
  /** Not by Escape: what it shows would be lost. */
  isClosedByButton?: boolean;
  onClose(): void;
  children: ComponentChildren;
}

/** The browser's own dialog: it keeps the focus inside and closes with Escape. */
export function Dialog({ title, closeLabel, isClosedByButton = false, onClose, children }: DialogProps) {
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
      onKeyDown={(event) => {
        // The browser closes a dialog at the second Escape, whatever is done about the first.
        if (event.key === 'Escape' && isClosedByButton) event.preventDefault();
      }}
      onCancel={(event) => {
        event.preventDefault();
        if (!isClosedByButton && mayLeave(event.currentTarget)) onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
      {closeLabel !== undefined && (
        <div class="buttons">
          <Button kind="primary" label={closeLabel} onClick={onClose} />
        </div>
      )}
    </dialog>
  );
}

export interface Secret {
  readonly title: string;
  /** What the secret is for. */
  readonly note: string;
  readonly label: string;
  readonly secret: string;
  readonly children?: ComponentChildren;
}

/** A secret that was just generated: it cannot be shown again. */
export function ShownOnce({ title, note, label, secret, children, onClose }: Secret & { onClose(): void }) {
  return (
    <Dialog title={title} closeLabel="Done" isClosedByButton onClose={onClose}>
      <p>{note} It is shown this once.</p>
      <CopyText label={label} text={secret} />
      {children}
    </Dialog>
  );
}

interface FormDialogProps extends Omit<FormProps, 'onSubmit' | 'class' | 'otherButtons'> {
  title: string;
  /** Then the dialog closes, unless there is a secret to show first, or it was replaced by another dialog. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most have nothing more to show, and no result.
  onSubmit(): Promise<Secret | 'replaced' | void>;
  onClose(): void;
}

export function FormDialog({ title, onSubmit, onClose, ...form }: FormDialogProps) {
  const [secret, setSecret] = useState<Secret>();
  if (secret) return <ShownOnce {...secret} onClose={onClose} />;
  const submit = async () => {
    const next = await onSubmit();
    if (typeof next === 'object') setSecret(next);
    else if (next !== 'replaced') onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form {...form} otherButtons={<Button label="Cancel" onClick={onClose} />} onSubmit={submit} />
    </Dialog>
  );
}

interface ConfirmProps extends Pick<FormDialogProps, 'title' | 'verb' | 'onSubmit' | 'onClose' | 'children'> {
  /** To be typed first, where much would be lost. */
  typed?: string;
}

/** Asks before something that cannot be undone, and says what it does. */
export function Confirm({ typed, children, ...dialog }: ConfirmProps) {
  const [text, setText] = useState('');
  return (
    <FormDialog {...dialog} isDangerous isReady={typed === undefined || text.trim() === typed}>
      <p>{children}</p>
      {typed !== undefined && (
        <TextField label={`Type ${typed} to confirm`} autocomplete="off" value={text} onValue={setText} />
      )}
    </FormDialog>
  );
}
