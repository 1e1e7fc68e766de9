import { useState } from 'preact/hooks';
import { api, dataOf, type Schemas } from '../api.js';
import { CopyText } from '../components/copy.js';
import { FormDialog } from '../components/forms/dialog.js';
import { CheckField, SelectField, TextField } from '../components/forms/field.js';
import { ShownOnce } from '../components/shown-once.js';
import { curlLine } from '../curl-line.js';
import { useAction } from '../hooks/use-data.js';
import { fieldError } from '../problem.js';
import { useSession } from '../session.js';

interface CreateKeyProps {
  site: string;
  onCreated(): void;
  onClose(): void;
}

export function CreateKey({ site, onCreated, onClose }: CreateKeyProps) {
  const { localUrl } = useSession();
  const [name, setName] = useState('');
  const [isTrial, setTrial] = useState(false);
  const [key, setKey] = useState<string>();
  const action = useAction();
  const create = () =>
    action.run(async () => {
      const body = { name, trial: isTrial };
      const created = await dataOf(api.POST('/api/v1/sites/{site}/keys', { params: { path: { site } }, body }));
      setKey(created.key);
      onCreated();
    });
  if (key === undefined)
    return (
      <FormDialog title="Create a key" action={action} verb="Create" onSubmit={() => void create()} onClose={onClose}>
        <TextField
          label="Name"
          required
          autofocus
          maxLength={100}
          placeholder="Shop backend"
          help="The system that uses it."
          error={fieldError(action.problem, 'name')}
          value={name}
          onValue={setName}
        />
        <CheckField
          label="Trial"
          help="For testing an integration: payloads are built and validated, nothing is sent, and nothing is counted."
          checked={isTrial}
          onValue={setTrial}
        />
      </FormDialog>
    );
  return (
    <ShownOnce
      title={`The key of ${name}`}
      note="Store it where the sending system reads its secrets."
      label="Key"
      secret={key}
      onClose={onClose}
    >
      <p>Send a first conversion:</p>
      <CopyText label="Request with the key" text={curlLine(site, key, localUrl)} />
    </ShownOnce>
  );
}

/** How long both keys are accepted, as the API names it. */
const OVERLAPS = [
  ['0s', 'Not at all: the old key is refused at once'],
  ['1h', '1 hour'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const;

interface RotateKeyProps {
  site: string;
  rotated: Schemas['Key'];
  onRotated(): void;
  onClose(): void;
}

/** Replaces a key. The sending system has the overlap to change over, so that no conversion is refused meanwhile. */
export function RotateKey({ site, rotated, onRotated, onClose }: RotateKeyProps) {
  const [overlap, setOverlap] = useState('24h');
  const [key, setKey] = useState<string>();
  const action = useAction();
  const rotate = () =>
    action.run(async () => {
      const params = { path: { site, id: rotated.id } };
      const issued = await dataOf(api.POST('/api/v1/sites/{site}/keys/{id}/rotate', { params, body: { overlap } }));
      setKey(issued.key);
      onRotated();
    });
  if (key !== undefined)
    return (
      <ShownOnce
        title={`The new key of ${rotated.name}`}
        note="Store it where the sending system reads its secrets. The list says until when the old key is accepted."
        label="Key"
        secret={key}
        onClose={onClose}
      />
    );
  return (
    <FormDialog
      title={`Rotate ${rotated.name}`}
      action={action}
      verb="Rotate"
      onSubmit={() => void rotate()}
      onClose={onClose}
    >
      <p>A new key replaces this one. Give the sending system the new key before the old one is refused.</p>
      <SelectField label="Both keys are accepted for" value={overlap} options={OVERLAPS} onValue={setOverlap} />
    </FormDialog>
  );
}
