import { useState } from 'preact/hooks';
import { api, dataOf } from '../../api.js';
import { Badge } from '../../components/badge.js';
import { Confirm } from '../../components/forms/confirm.js';
import { Panel } from '../../components/panel.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { ShownOnce } from '../../components/shown-once.js';
import { Empty, Show } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { attempt, toast } from '../../components/toasts.js';
import { counted } from '../../format.js';
import { useData } from '../../hooks/use-data.js';
import { useDialog } from '../../hooks/use-dialog.js';
import { mayAdminister, type User, useSession } from '../../session.js';
import { AddUser, ChangeUser, ResetUser } from './user-dialogs.js';

export function SettingsUsers() {
  const { user } = useSession();
  if (!mayAdminister(user))
    return (
      <SettingsPage title="Users" note="Who may use this installation">
        <Empty title="Only administrators manage users" />
      </SettingsPage>
    );
  return <UserList />;
}

function UserList() {
  const { user: self } = useSession();
  const users = useData('users', () => dataOf(api.GET('/api/v1/users')));
  const { opened, item, open, close } = useDialog();
  const named = users.data?.items.find(({ id }) => id === item && id !== self.id);
  const [link, setLink] = useState<{ user: User; link: string; validTokens?: number }>();
  const setDisabled = async ({ id, name }: User, disabled: boolean) => {
    await dataOf(api.PATCH('/api/v1/users/{id}', { params: { path: { id } }, body: { disabled } }));
    users.reload();
    return disabled ? `${name} is signed out and may not sign in` : `${name} may sign in again`;
  };
  return (
    <SettingsPage
      title="Users"
      note="Who may use this installation"
      actions={
        <button type="button" class="primary" onClick={() => open('new')}>
          Add a user
        </button>
      }
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
                {
                  title: 'Sites',
                  cell: ({ sites }) => (sites === null ? 'all' : sites.length === 0 ? 'none' : sites.join(', ')),
                },
                {
                  title: 'State',
                  cell: ({ disabled }) => (
                    <Badge tone={disabled ? 'plain' : 'ok'}>{disabled ? 'disabled' : 'active'}</Badge>
                  ),
                },
                { title: 'Added', isMinor: true, cell: ({ createdAt }) => <Time time={createdAt} as="day" /> },
                {
                  title: 'Change',
                  isAction: true,
                  cell: (user) =>
                    user.id !== self.id && (
                      <>
                        <button type="button" class="quiet" onClick={() => open('change', user.id)}>
                          Change <span class="hidden">{user.name}</span>
                        </button>
                        <button type="button" class="quiet" onClick={() => open('reset', user.id)}>
                          New link <span class="hidden">for {user.name}</span>
                        </button>
                        {user.disabled ? (
                          <button
                            type="button"
                            class="quiet"
                            onClick={() => void attempt(() => setDisabled(user, false))}
                          >
                            Enable <span class="hidden">{user.name}</span>
                          </button>
                        ) : (
                          <button type="button" class="quiet" onClick={() => open('disable', user.id)}>
                            Disable <span class="hidden">{user.name}</span>
                          </button>
                        )}
                      </>
                    ),
                },
              ]}
            />
          </Panel>
        )}
      </Show>
      {opened === 'new' && (
        <AddUser
          onAdded={({ user, link }) => {
            close();
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
          onConfirm={async () => toast(await setDisabled(named, true))}
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
