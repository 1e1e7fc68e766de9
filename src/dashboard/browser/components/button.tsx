interface ButtonProps {
  label: string;
  /** What it is about, after the label, for those who do not see what it is beside. */
  about?: string;
  /** In place of the label, for those who do not see it. */
  name?: string;
  kind?: 'primary' | 'danger' | 'quiet' | undefined;
  isDisabled?: boolean;
  onClick(): unknown;
}

export function Button({ label, about, name, kind, isDisabled = false, onClick }: ButtonProps) {
  return (
    <button type="button" class={kind} aria-label={name} disabled={isDisabled} onClick={() => void onClick()}>
      {label} {about !== undefined && <span class="hidden">{about}</span>}
    </button>
  );
}
