import { useState } from 'preact/hooks';
import { api } from '../api.js';
import { FormDialog } from '../components/forms/dialog.js';
import { TextField } from '../components/forms/fields.js';
import { toast } from '../components/toasts.js';

interface SetWebhookProps {
  site: string;
  onSet(): void;
  onClose(): void;
}

/** The address that receives the totals; a generated secret is shown once. */
export function SetWebhook({ site, onSet, onClose }: SetWebhookProps) {
  const [url, setUrl] = useState('');
  const save = async () => {
    const { secret } = await api.PUT('/api/v1/sites/{site}/webhook', { path: { site }, body: { url } });
    onSet();
    toast('The webhook is set');
    if (secret !== undefined) return webhookSecret('The secret of the webhook', secret);
  };
  return (
    <FormDialog title="Set the webhook" verb="Save" onSubmit={save} onClose={onClose}>
      <TextField
        label="Address"
        name="url"
        type="url"
        required
        autofocus
        placeholder="https://reports.shop.example/totals"
        help="An https address on the public internet. A new host gets a new secret, which is shown once."
        value={url}
        onValue={setUrl}
      />
    </FormDialog>
  );
}

export function webhookSecret(title: string, secret: string) {
  return { title, note: 'The receiver checks signatures with it.', label: 'Secret', secret };
}
