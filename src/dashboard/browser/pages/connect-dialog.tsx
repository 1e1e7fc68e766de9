import { useState } from 'preact/hooks';
import { api, dataOf } from '../api.js';
import { CopyText } from '../components/copy.js';
import { Dialog, FormDialog } from '../components/dialog.js';
import { TextField } from '../components/field.js';
import { toast } from '../components/toasts.js';
import { type Connection, changedSettings, fieldTitle, type Platform, type PlatformField } from '../connection-view.js';
import { connectionTitle } from '../format.js';
import { fieldError } from '../problem.js';
import { useAction } from '../use-data.js';

interface ConnectDialogProps {
  site: string;
  connection: Connection;
  platform: Platform | undefined;
  /** Id of a sign-in at the platform, whose tokens are used in place of secrets. */
  signIn: string | undefined;
  onConnected(): void;
  onClose(): void;
}

/** Required settings first; the others are folded away. */
export function ConnectDialog({ site, connection, platform: kind, signIn, onConnected, onClose }: ConnectDialogProps) {
  const { platform, connected, settings } = connection;
  // A sign-in replaces the secrets.
  const fields = (kind?.fields ?? []).filter(({ secret }) => signIn === undefined || !secret);
  const title = connectionTitle(platform);
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [secret, setSecret] = useState<string>();
  const action = useAction();
  const save = () =>
    action.run(async () => {
      const answer = await dataOf(
        api.PUT('/api/v1/sites/{site}/connections/{connection}', {
          params: { path: { site, connection: platform } },
          body: { settings: changedSettings(fields, settings, typed), ...(signIn !== undefined && { signIn }) },
        }),
      );
      onConnected();
      toast(connected ? `${title} is changed` : `${title} is connected`);
      if (answer.secret === undefined) onClose();
      else setSecret(answer.secret);
    });
  const goToPlatform = async () => {
    const path = { site, connection: platform };
    const { url } = await dataOf(
      api.POST('/api/v1/sites/{site}/connections/{connection}/sign-in', { params: { path } }),
    );
    location.assign(url);
  };
  if (secret !== undefined)
    return (
      <Dialog title={`${title} is connected`} onClose={onClose}>
        <p>This secret was generated. It is shown this once: give it to the receiver.</p>
        <CopyText label="Secret" text={secret} />
        <div class="buttons">
          <button type="button" class="primary" onClick={onClose}>
            Done
          </button>
        </div>
      </Dialog>
    );
  const input = ({ name, secret: isSecret, required, help }: PlatformField) => {
    const current = settings[name];
    const isSet = current === true;
    return (
      <TextField
        key={name}
        label={`${fieldTitle(name)}${required ? '' : ' (optional)'}`}
        type={isSecret ? 'password' : 'text'}
        autocomplete="off"
        required={required && !isSet}
        placeholder={isSet ? 'Set. Leave empty to keep it' : ''}
        help={help}
        error={fieldError(action.problem, `settings.${name}`)}
        value={typed[name] ?? (typeof current === 'string' ? current : '')}
        onValue={(value) => setTyped({ ...typed, [name]: value })}
      />
    );
  };
  const optional = fields.filter(({ required }) => !required);
  return (
    <FormDialog
      title={connected ? `${title}: settings` : `Connect ${title}`}
      action={action}
      verb={connected ? 'Save' : 'Connect'}
      onSubmit={() => void save()}
      onClose={onClose}
    >
      {signIn !== undefined && (
        <p class="dim">You are signed in at {title}. Its tokens are stored when you connect it.</p>
      )}
      {kind?.signIn && signIn === undefined && (
        <p>
          <button type="button" onClick={() => void action.run(goToPlatform)}>
            Sign in at {title}
          </button>{' '}
          <span class="dim">or enter the credentials:</span>
        </p>
      )}
      {fields.filter(({ required }) => required).map(input)}
      {optional.length > 0 && (
        <details open={optional.length === fields.length}>
          <summary>Optional settings</summary>
          {optional.map(input)}
        </details>
      )}
    </FormDialog>
  );
}
