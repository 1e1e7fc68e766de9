import { useState } from 'preact/hooks';
import { FormDialog } from '../components/forms/dialog.js';
import { TextField } from '../components/forms/fields.js';
import { connectionTitle } from '../format.js';

interface AddConnectionProps {
  platform: string;
  /** Names of the connections that exist. */
  taken: readonly string[];
  onNamed(connection: string): void;
  onClose(): void;
}

/** Names another connection of a platform, such as to a second account. Its settings follow. */
export function AddConnection({ platform, taken, onNamed, onClose }: AddConnectionProps) {
  const [name, setName] = useState('');
  const connection = `${platform}:${name}`;
  const isTaken = taken.includes(connection);
  const goOn = async () => {
    onNamed(connection);
    return 'replaced' as const;
  };
  return (
    <FormDialog
      title={`Another connection to ${connectionTitle(platform)}`}
      verb="Continue"
      isReady={name !== '' && !isTaken}
      onSubmit={goOn}
      onClose={onClose}
    >
      <p>Every conversion is sent to each of them, such as to two accounts.</p>
      <TextField
        label="Name"
        required
        autofocus
        maxLength={32}
        pattern="[a-z0-9][a-z0-9_\-]*"
        placeholder="second"
        help="Small letters, digits, hyphens and underscores."
        error={isTaken ? 'There is a connection of this name.' : undefined}
        value={name}
        onValue={setName}
      />
    </FormDialog>
  );
}
