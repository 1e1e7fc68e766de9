import { useState } from 'preact/hooks';
import { api } from '../../api.js';
import { Badge, Button, Time } from '../../components/basics.js';
import { Confirm, ShownOnce } from '../../components/forms/dialog.js';
import { Panel, Show } from '../../components/frame.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Table } from '../../components/table.js';
import { attempt, toast } from '../../components/toasts.js';
import { counted } from '../../format.js';
import { useGet } from '../../hooks/use-data.js';
import { useDialog } from '../../hooks/use-dialog.js';
import { type User, useSession } from '../../session.js';
import { AddUser, ChangeUser, ResetUser } from './user-dialogs.js';

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
