import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from '../../hooks/use-data.js';
import { FormDialog } from './dialog.js';
import { TextField } from './field.js';

interface ConfirmProps {
  title: string;
  verb: string;
  /** To be typed first, where much would be lost. */
  typed?: string;
  children: ComponentChildren;
  onConfirm(): Promise<unknown>;
  onClose(): void;
}

/** Asks before something that cannot be undone, and says what it does. */
export function Confirm({ title, verb, typed, children, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState('');
  const action = useAction();
  const submit = async () => {
    if (await action.run(onConfirm)) onClose();
  };
  return (
    <FormDialog
      title={title}
      action={action}
      verb={verb}
      isDangerous
      isReady={typed === undefined || text.trim() === typed}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p>{children}</p>
      {typed !== undefined && (
        <TextField label={`Type ${typed} to confirm`} autocomplete="off" value={text} onValue={setText} />
      )}
    </FormDialog>
  );
}
