import { useState } from 'preact/hooks';
import { api, type Schemas } from '../api.js';
import { CopyText } from '../components/basics.js';
import { FormDialog } from '../components/forms/dialog.js';
import { CheckField, SelectField, TextField, useFields } from '../components/forms/fields.js';
import { curlLine } from '../curl-line.js';
import { useSession } from '../session.js';

interface CreateKeyProps {
  site: string;
  onCreated(): void;
  onClose(): void;
}

export function CreateKey({ site, onCreated, onClose }: CreateKeyProps) {
  const { localUrl } = useSession();
  const { values, field } = useFields({ name: '', trial: false });
  const create = async () => {
    const { key } = await api.POST('/api/v1/sites/{site}/keys', { path: { site }, body: values });
    onCreated();
    return {
      title: `The key of ${values.name}`,
      note: 'Store it where the sending system reads its secrets.',
      label: 'Key',
      secret: key,
      children: (
        <>
          <p>Send a first conversion:</p>
          <CopyText label="Request with the key" text={curlLine(site, key, localUrl)} />
        </>
      ),
    };
  };
  return (
    <FormDialog title="Create a key" verb="Create" onSubmit={create} onClose={onClose}>
      <TextField
        {...field('name')}
        label="Name"
        required
        autofocus
        maxLength={100}
        placeholder="Shop backend"
        help="The system that uses it."
      />
      <CheckField
        {...field('trial')}
        label="Trial"
        help="For testing an integration: payloads are built and validated, nothing is sent, and nothing is counted."
      />
    </FormDialog>
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
export function RotateKey({ site, rotated: { id, name }, onRotated, onClose }: RotateKeyProps) {
  const [overlap, setOverlap] = useState<string>('24h');
  const rotate = async () => {
    const { key } = await api.POST('/api/v1/sites/{site}/keys/{id}/rotate', { path: { site, id }, body: { overlap } });
    onRotated();
    return {
      title: `The new key of ${name}`,
      note: 'Store it where the sending system reads its secrets. The list says until when the old key is accepted.',
      label: 'Key',
      secret: key,
    };
  };
  return (
    <FormDialog title={`Rotate ${name}`} verb="Rotate" onSubmit={rotate} onClose={onClose}>
      <p>A new key replaces this one. Give the sending system the new key before the old one is refused.</p>
      <SelectField label="Both keys are accepted for" value={overlap} options={OVERLAPS} onValue={setOverlap} />
    </FormDialog>
  );
}
