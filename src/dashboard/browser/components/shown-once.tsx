import type { ComponentChildren } from 'preact';
import { CopyText } from './copy.js';
import { Dialog } from './forms/dialog.js';

interface ShownOnceProps {
  title: string;
  /** What the secret is for. */
  note: string;
  label: string;
  secret: string;
  children?: ComponentChildren;
  onClose(): void;
}

/** A secret that was just generated: it cannot be shown again. */
export function ShownOnce({ title, note, label, secret, children, onClose }: ShownOnceProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{note} It is shown this once.</p>
      <CopyText label={label} text={secret} />
      {children}
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
