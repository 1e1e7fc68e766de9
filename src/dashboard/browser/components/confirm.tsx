import type { ComponentChildren } from 'preact';
import { useAction } from '../use-data.js';
import { FormDialog } from './dialog.js';

interface ConfirmProps {
  title: string;
  verb: string;
  children: ComponentChildren;
  onConfirm(): Promise<unknown>;
  onClose(): void;
}

/** Asks before something that cannot be undone, and says what it does. */
export function Confirm({ title, verb, children, onConfirm, onClose }: ConfirmProps) {
  const action = useAction();
  const submit = async () => {
    if (await action.run(onConfirm)) onClose();
  };
  return (
    <FormDialog title={title} action={action} verb={verb} isDangerous onSubmit={() => void submit()} onClose={onClose}>
      <p>{children}</p>
    </FormDialog>
  );
}
