import { useState } from 'preact/hooks';
import { api, type Schemas } from '../../api.js';
import { FormDialog } from '../../components/forms/dialog.js';
import { CheckField, SelectField, TextField } from '../../components/forms/fields.js';
import { SiteChoice } from '../../components/forms/site-choice.js';
import { toast } from '../../components/toasts.js';
import type { User } from '../../session.js';
import { ROLE_TITLES } from '../../views/account-view.js';

type Access = Pick<User, 'role' | 'sites'>;

const ROLES = Object.entries(ROLE_TITLES) as [User['role'], string][];

interface AddUserProps {
  onAdded(added: { user: User; link: string }): void;
  onClose(): void;
}

export function AddUser({ onAdded, onClose }: AddUserProps) {
  const [email, setEmail] = useState('');
  const [access, setAccess] = useState<Access>({ role: 'analyst', sites: null });
  const add = async () => onAdded(await api.POST('/api/v1/users', { body: { email: email.trim(), ...access } }));
  return (
    <FormDialog title="Add a user" verb="Add" onSubmit={add} onClose={onClose}>
      <TextField label="Email" name="email" type="email" required autofocus value={email} onValue={setEmail} />
      <AccessFields access={access} onChange={setAccess} />
    </FormDialog>
  );
}

interface ChangeUserProps {
  user: User;
  onChanged(): void;
  onClose(): void;
}

/** The role and the sites of a user. They apply to the next request of the user. */
export function ChangeUser({ user: { id, name, role, sites }, onChanged, onClose }: ChangeUserProps) {
  const [access, setAccess] = useState<Access>({ role, sites });
  const change = async () => {
    await api.PATCH('/api/v1/users/{id}', { path: { id }, body: access });
    toast(`${name} is changed`);
    onChanged();
  };
  return (
    <FormDialog title={`Change ${name}`} verb="Save" onSubmit={change} onClose={onClose}>
      <AccessFields access={access} onChange={setAccess} />
    </FormDialog>
  );
}

interface ResetUserProps {
  user: User;
  onReset(answer: Schemas['SignInLink']): void;
  onClose(): void;
}

/** Ends the password and the sessions of a user, and the API tokens if they are to be revoked. */
export function ResetUser({ user: { id, name }, onReset, onClose }: ResetUserProps) {
  const [revokeTokens, setRevokeTokens] = useState(false);
  const reset = async () => {
    onReset(await api.POST('/api/v1/users/{id}/reset', { path: { id }, body: { revokeTokens } }));
  };
  return (
    <FormDialog
      title={`A new link for ${name}?`}
      verb="End the sessions"
      isDangerous
      onSubmit={reset}
      onClose={onClose}
    >
      <p>The password and all sessions of this user end. The link that follows chooses a new password.</p>
      <CheckField
        label="Also revoke the API tokens"
        help="Otherwise programs that use them go on. A revoked token cannot be used again."
        value={revokeTokens}
        onValue={setRevokeTokens}
      />
    </FormDialog>
  );
}

function AccessFields({ access: { role, sites }, onChange }: { access: Access; onChange(access: Access): void }) {
  // Administrators see all sites.
  const choose = (chosen: User['role']) => onChange({ role: chosen, sites: chosen === 'admin' ? null : sites });
  return (
    <>
      <SelectField label="Role" value={role} options={ROLES} onValue={choose} />
      {role !== 'admin' && <SiteChoice sites={sites} onChange={(chosen) => onChange({ role, sites: chosen })} />}
    </>
  );
}
