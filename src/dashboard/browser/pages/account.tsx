import { useState } from 'preact/hooks';
import { api, dataOf } from '../api.js';
import { Badge } from '../components/badge.js';
import { Confirm } from '../components/forms/confirm.js';
import { TextField } from '../components/forms/field.js';
import { Page, Panel } from '../components/panel.js';
import { ProblemNote, Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toasts.js';
import { counted } from '../format.js';
import { useAction, useData } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { useSession } from '../session.js';
import { accountRows, otherSessions, passwordError, sessionsText } from '../views/account-view.js';

/** The signed-in user's own password and sessions. */
export function Account() {
  const { user, signOut } = useSession();
  const sessions = useData('sessions', () => dataOf(api.GET('/api/v1/sessions')));
  const { opened, open, close } = useDialog();
  const others = otherSessions(sessions.data?.items ?? []);
  return (
    <Page title="Account" note="Your access, password and sessions">
      <Panel title="You" note="An administrator changes it under Settings">
        <dl class="facts pad">
          {accountRows(user).map(([title, value]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </Panel>
      <Panel title="Password">
        {user.provider ? (
          <p class="pad">You are signed in with your organisation, where your password is changed.</p>
        ) : (
          <PasswordForm onChanged={sessions.reload} />
        )}
      </Panel>
      <Show of={sessions}>
        {({ items }) => (
          <Panel
            title="Sessions"
            note={sessionsText(items)}
            actions={
              <>
                {others > 0 && (
                  <button type="button" onClick={() => open('others')}>
                    Sign out the others
                  </button>
                )}
                <button type="button" onClick={() => open('everywhere')}>
                  Sign out everywhere
                </button>
              </>
            }
          >
            <Table
              label="Sessions"
              rows={items}
              rowKey={({ current, createdAt }) => `${current} ${createdAt}`}
              columns={[
                {
                  title: 'Browser',
                  cell: ({ current }) => (
                    <Badge tone={current ? 'ok' : 'plain'}>{current ? 'this one' : 'another'}</Badge>
                  ),
                },
                { title: 'Signed in', cell: ({ createdAt }) => <Time time={createdAt} /> },
                { title: 'Last used', cell: ({ lastUsedAt }) => <Time time={lastUsedAt} as="age" /> },
                { title: 'Ends without use', isMinor: true, cell: ({ expiresAt }) => <Time time={expiresAt} /> },
              ]}
            />
          </Panel>
        )}
      </Show>
      {opened === 'others' && others > 0 && (
        <Confirm
          title="Sign out all other browsers?"
          verb="Sign out the others"
          onClose={close}
          onConfirm={async () => {
            await dataOf(api.DELETE('/api/v1/sessions/others'));
            sessions.reload();
            toast('You are signed out in all other browsers');
          }}
        >
          {counted(others, 'other session ends', 'other sessions end')} at once; this browser stays signed in. API
          tokens stay valid: revoke them under Settings.
        </Confirm>
      )}
      {opened === 'everywhere' && (
        <Confirm
          title="Sign out everywhere?"
          verb="Sign out everywhere"
          onClose={close}
          onConfirm={async () => signOut('everywhere')}
        >
          All your sessions end at once, also the one in this browser. API tokens stay valid: revoke them under
          Settings.
        </Confirm>
      )}
    </Page>
  );
}

function PasswordForm({ onChanged }: { onChanged: () => void }) {
  const { user } = useSession();
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const [repeated, setRepeated] = useState('');
  const action = useAction();
  const error = passwordError(password, repeated);
  const save = async () => {
    const isChanged = await action.run(() =>
      dataOf(api.PUT('/api/v1/session/password', { body: { current, password } })),
    );
    if (!isChanged) return;
    setCurrent('');
    setPassword('');
    setRepeated('');
    onChanged();
    toast('Your password is changed, and your other sessions are ended');
  };
  return (
    <form
      class="pad form"
      onSubmit={(event) => {
        event.preventDefault();
        if (error === undefined) void save();
      }}
    >
      <input type="email" autocomplete="username" value={user.email} readOnly hidden />
      <TextField
        label="Current password"
        type="password"
        autocomplete="current-password"
        required
        value={current}
        onValue={setCurrent}
      />
      <TextField
        label="New password"
        type="password"
        autocomplete="new-password"
        required
        minLength={12}
        help="At least 12 characters."
        value={password}
        onValue={setPassword}
      />
      <TextField
        label="New password again"
        type="password"
        autocomplete="new-password"
        required
        error={error}
        value={repeated}
        onValue={setRepeated}
      />
      <p class="dim">Your sessions in other browsers end. API tokens stay valid.</p>
      <ProblemNote problem={action.problem} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={action.isBusy || error !== undefined}>
          Change the password
        </button>
      </div>
    </form>
  );
}
