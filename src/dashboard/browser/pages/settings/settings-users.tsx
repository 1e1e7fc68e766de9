import { useState } from 'preact/hooks';
import { api, type Schemas } from '../../api.js';
import { Badge, Button, Time } from '../../components/basics.js';
import { Confirm, FormDialog, ShownOnce } from '../../components/forms/dialog.js';
import { CheckField, SelectField, TextField } from '../../components/forms/fields.js';
import { SiteChoice } from '../../components/forms/site-choice.js';
import { Panel, Show } from '../../components/frame.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Table } from '../../components/table.js';
import { attempt, toast } from '../../components/toasts.js';
import { counted } from '../../format.js';
import { useGet } from '../../hooks/use-data.js';
import { useDialog } from '../../hooks/use-dialog.js';
import { type User, useSession } from '../../session.js';
import { ROLE_TITLES } from '../../views/account-view.js';

export function SettingsUsers() {
  const { user: self } = useSession();
  const users = useGet('/api/v1/users');
  const { opened, item, open, close } = useDialog();
  const named = users.data?.items.find(({ id }) => id === item && id !== self.id);
  const [link, setLink] = useState<{ user: User; link: string; validTokens?: number }>();
  const setDisabled = async ({ id, name }: User, disabled: boolean) => {
    await api.PATCH('/api/v1/users/{id}', { path: { id }, body: { disabled } });
    users.reload();
    return disabled ? `${name} is signed out and may not sign in` : `${name} may sign in again`;
  };
  const buttons = (user: User) => {
    const { id, name, disabled } = user;
    return (
      <>
        <Button kind="quiet" label="Change" about={name} onClick={() => open('change', id)} />
        <Button kind="quiet" label="New link" about={`for ${name}`} onClick={() => open('reset', id)} />
        {disabled ? (
          <Button kind="quiet" label="Enable" about={name} onClick={() => attempt(() => setDisabled(user, false))} />
        ) : (
          <Button kind="quiet" label="Disable" about={name} onClick={() => open('disable', id)} />
        )}
      </>
    );
  };
  return (
    <SettingsPage
      path="/settings/users"
      actions={<Button kind="primary" label="Add a user" onClick={() => open('new')} />}
    >
      <Show of={users}>
        {({ items }) => (
          <Panel title="Users">
            <Table
              label="Users"
              rows={items}
              rowKey={({ id }) => id}
              columns={[
                {
                  title: 'Name',
                  cell: ({ name, email }) => (
                    <>
                      <strong>{name}</strong> {name !== email && <span class="dim">{email}</span>}
                    </>
                  ),
                },
                { title: 'Role', cell: ({ role }) => role },
                { title: 'Sites', cell: ({ sites }) => (sites === null ? 'all' : sites.join(', ') || 'none') },
                {
                  title: 'State',
                  cell: ({ disabled }) => (
                    <Badge tone={disabled ? 'plain' : 'ok'}>{disabled ? 'disabled' : 'active'}</Badge>
                  ),
                },
                { title: 'Added', isMinor: true, cell: ({ createdAt }) => <Time time={createdAt} as="day" /> },
                { title: 'Change', kind: 'action', cell: (user) => user.id !== self.id && buttons(user) },
              ]}
            />
          </Panel>
        )}
      </Show>
      {opened === 'new' && (
        <AddUser
          onAdded={({ user, link }) => {
            setLink({ user, link });
            users.reload();
          }}
          onClose={close}
        />
      )}
      {opened === 'change' && named && <ChangeUser user={named} onChanged={users.reload} onClose={close} />}
      {opened === 'disable' && named && !named.disabled && (
        <Confirm
          title={`Disable ${named.name}?`}
          verb="Disable"
          onClose={close}
          onSubmit={async () => toast(await setDisabled(named, true))}
        >
          The user is signed out everywhere at once and cannot sign in, links to choose a password end, and API tokens
          of the user are refused, until you enable the user again.
        </Confirm>
      )}
      {opened === 'reset' && named && <ResetUser user={named} onReset={setLink} onClose={close} />}
      {link && (
        <ShownOnce
          title={`The link for ${link.user.name}`}
          note={`It chooses a password, once, within 24 hours. Send it to ${link.user.email}.`}
          label="Link"
          secret={link.link}
          onClose={() => setLink(undefined)}
        >
          {link.validTokens !== undefined && <p>{validTokensText(link.validTokens)}</p>}
        </ShownOnce>
      )}
    </SettingsPage>
  );
}

function validTokensText(count: number): string {
  if (count === 0) return 'No API token of this user is valid.';
  return `${counted(count, 'API token')} of this user can still be used: revoke what is not to be, on the page API tokens.`;
}

type Access = Pick<User, 'role' | 'sites'>;

const ROLES = Object.entries(ROLE_TITLES) as [User['role'], string][];

interface AddUserProps {
  onAdded(added: { user: User; link: string }): void;
  onClose(): void;
}

function AddUser({ onAdded, onClose }: AddUserProps) {
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
function ChangeUser({ user: { id, name, role, sites }, onChanged, onClose }: ChangeUserProps) {
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
function ResetUser({ user: { id, name }, onReset, onClose }: ResetUserProps) {
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
