import { api } from '../api.js';
import { Badge, Button, Facts, Time } from '../components/basics.js';
import { Confirm } from '../components/forms/dialog.js';
import { Form, TextField, useFields } from '../components/forms/fields.js';
import { Page, Panel, Show } from '../components/frame.js';
import { Table } from '../components/table.js';
import { toast } from '../components/toasts.js';
import { counted } from '../format.js';
import { useGet } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { useSession } from '../session.js';
import { accountRows, otherSessions, passwordError, sessionsText } from '../views/account-view.js';

/** The signed-in user's own password and sessions. */
export function Account() {
  const { user, signOut } = useSession();
  const sessions = useGet('/api/v1/sessions');
  const { opened, open, close } = useDialog();
  const others = otherSessions(sessions.data?.items ?? []);
  return (
    <Page title="Account" note="Your access, password and sessions">
      <Panel title="You" note="An administrator changes it under Settings">
        <Facts isPadded rows={accountRows(user)} />
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
                {others > 0 && <Button label="Sign out the others" onClick={() => open('others')} />}
                <Button label="Sign out everywhere" onClick={() => open('everywhere')} />
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
          onSubmit={async () => {
            await api.DELETE('/api/v1/sessions/others');
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
          onSubmit={async () => signOut('everywhere')}
        >
          All your sessions end at once, also the one in this browser. API tokens stay valid: revoke them under
          Settings.
        </Confirm>
      )}
    </Page>
  );
}

const EMPTY = { current: '', password: '', repeated: '' };

function PasswordForm({ onChanged }: { onChanged: () => void }) {
  const { user } = useSession();
  const { values, set, field } = useFields(EMPTY);
  const { current, password, repeated } = values;
  const error = passwordError(password, repeated);
  const save = async () => {
    await api.PUT('/api/v1/session/password', { body: { current, password } });
    set(EMPTY);
    onChanged();
    toast('Your password is changed, and your other sessions are ended');
  };
  return (
    <Form class="pad form" verb="Change the password" isReady={error === undefined} onSubmit={save}>
      <input type="email" autocomplete="username" value={user.email} readOnly hidden />
      <TextField
        {...field('current')}
        label="Current password"
        type="password"
        autocomplete="current-password"
        required
      />
      <NewPassword {...field('password')} />
      <TextField
        {...field('repeated')}
        label="New password again"
        type="password"
        autocomplete="new-password"
        required
        error={error}
      />
      <p class="dim">Your sessions in other browsers end. API tokens stay valid.</p>
    </Form>
  );
}

interface NewPasswordProps {
  autofocus?: boolean;
  value: string;
  onValue(value: string): void;
}

export function NewPassword(props: NewPasswordProps) {
  return (
    <TextField
      {...props}
      label="New password"
      type="password"
      autocomplete="new-password"
      required
      minLength={12}
      help="At least 12 characters."
    />
  );
}
