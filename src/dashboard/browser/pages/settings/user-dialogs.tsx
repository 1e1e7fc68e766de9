import { useState } from 'preact/hooks';
import { api, dataOf, type Schemas } from '../../api.js';
import { FormDialog } from '../../components/forms/dialog.js';
import { CheckField, SelectField, TextField } from '../../components/forms/field.js';
import { SiteChoice } from '../../components/forms/site-choice.js';
import { toast } from '../../components/toasts.js';
import { useAction } from '../../hooks/use-data.js';
import { fieldError } from '../../problem.js';
import type { User } from '../../session.js';

const ROLES = [
  ['admin', 'Administrator: everything, and users'],
  ['operator', 'Operator: reads, changes and erases'],
  ['analyst', 'Analyst: reads'],
] as const;

type Access = Pick<User, 'role' | 'sites'>;

interface AddUserProps {
  onAdded(added: { user: User; link: string }): void;
  onClose(): void;
}

export function AddUser({ onAdded, onClose }: AddUserProps) {
  const [email, setEmail] = useState('');
  const [access, setAccess] = useState<Access>({ role: 'analyst', sites: null });
  const action = useAction();
  const add = () =>
    action.run(async () => {
      onAdded(await dataOf(api.POST('/api/v1/users', { body: { email: email.trim(), ...access } })));
    });
  return (
    <FormDialog title="Add a user" action={action} verb="Add" onSubmit={() => void add()} onClose={onClose}>
      <TextField
        label="Email"
        type="email"
        required
        autofocus
        error={fieldError(action.problem, 'email')}
        value={email}
        onValue={setEmail}
      />
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
export function ChangeUser({ user, onChanged, onClose }: ChangeUserProps) {
  const { id, name, role, sites } = user;
  const [access, setAccess] = useState<Access>({ role, sites });
  const action = useAction();
  const change = async () => {
    const isChanged = await action.run(() =>
      dataOf(api.PATCH('/api/v1/users/{id}', { params: { path: { id } }, body: access })),
    );
    if (!isChanged) return;
    toast(`${name} is changed`);
    onChanged();
    onClose();
  };
  return (
    <FormDialog title={`Change ${name}`} action={action} verb="Save" onSubmit={() => void change()} onClose={onClose}>
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
  const action = useAction();
  const reset = async () => {
    const isReset = await action.run(async () => {
      const params = { path: { id } };
      onReset(await dataOf(api.POST('/api/v1/users/{id}/reset', { params, body: { revokeTokens } })));
    });
    if (isReset) onClose();
  };
  return (
    <FormDialog
      title={`A new link for ${name}?`}
      action={action}
      verb="End the sessions"
      isDangerous
      onSubmit={() => void reset()}
      onClose={onClose}
    >
      <p>The password and all sessions of this user end. The link that follows chooses a new password.</p>
      <CheckField
        label="Also revoke the API tokens"
        help="Otherwise programs that use them go on. A revoked token cannot be used again."
        checked={revokeTokens}
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
      <SelectField
        label="Role"
        value={role}
        options={ROLES}
        onValue={(value) => choose(ROLES.find(([known]) => known === value)?.[0] ?? role)}
      />
      {role !== 'admin' && <SiteChoice sites={sites} onChange={(chosen) => onChange({ role, sites: chosen })} />}
    </>
  );
}
