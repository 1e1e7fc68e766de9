import { useState } from 'preact/hooks';
import { api, dataOf } from '../api.js';
import { FormDialog } from '../components/forms/dialog.js';
import { TextField } from '../components/forms/field.js';
import { ShownOnce } from '../components/shown-once.js';
import { toast } from '../components/toasts.js';
import { useAction } from '../hooks/use-data.js';
import { fieldError } from '../problem.js';

interface SetWebhookProps {
  site: string;
  onSet(): void;
  onClose(): void;
}

/** The address that receives the totals; a generated secret is shown once. */
export function SetWebhook({ site, onSet, onClose }: SetWebhookProps) {
  const [url, setUrl] = useState('');
  const [generated, setGenerated] = useState<string>();
  const action = useAction();
  const save = () =>
    action.run(async () => {
      const answer = await dataOf(
        api.PUT('/api/v1/sites/{site}/webhook', { params: { path: { site } }, body: { url } }),
      );
      onSet();
      toast('The webhook is set');
      if (answer.secret === undefined) onClose();
      else setGenerated(answer.secret);
    });
  if (generated !== undefined)
    return (
      <ShownOnce
        title="The secret of the webhook"
        note="The receiver checks signatures with it."
        label="Secret"
        secret={generated}
        onClose={onClose}
      />
    );
  return (
    <FormDialog title="Set the webhook" action={action} verb="Save" onSubmit={() => void save()} onClose={onClose}>
      <TextField
        label="Address"
        type="url"
        required
        autofocus
        placeholder="https://reports.shop.example/totals"
        help="An https address on the public internet. A new host gets a new secret, which is shown once."
        error={fieldError(action.problem, 'url')}
        value={url}
        onValue={setUrl}
      />
    </FormDialog>
  );
}
