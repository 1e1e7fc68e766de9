import { useState } from 'preact/hooks';
import { api, dataOf, type Schemas } from '../../api.js';
import { Badge } from '../../components/badge.js';
import { CopyText } from '../../components/copy.js';
import { Confirm } from '../../components/forms/confirm.js';
import { FormDialog } from '../../components/forms/dialog.js';
import { TextField } from '../../components/forms/field.js';
import { Panel } from '../../components/panel.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Show } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { toast } from '../../components/toasts.js';
import { connectionTitle } from '../../format.js';
import { useAction, useData } from '../../hooks/use-data.js';
import { useDialog } from '../../hooks/use-dialog.js';
import { fieldError } from '../../problem.js';

type OauthApp = Schemas['OauthApp'];

/** The operator's own apps at platforms, with which people sign in there to connect them. */
export function SettingsOauthApps() {
  const apps = useData('oauth apps', () => dataOf(api.GET('/api/v1/oauth-apps')));
  const { opened, item, open, close } = useDialog();
  const named = apps.data?.items.find(({ platform, fromSettings }) => platform === item && !fromSettings);
  const removed = opened === 'remove' && named?.clientId !== undefined ? named.platform : undefined;
  return (
    <SettingsPage title="OAuth apps" note="Your apps at platforms, for connecting by signing in there">
      <Show of={apps}>
        {({ items }) => (
          <Panel title="Apps">
            <Table
              label="OAuth apps"
              rows={items}
              rowKey={({ platform }) => platform}
              columns={[
                { title: 'Platform', cell: ({ platform }) => <strong>{connectionTitle(platform)}</strong> },
                {
                  title: 'State',
                  cell: ({ clientId, fromSettings }) => (
                    <>
                      <Badge tone={clientId === undefined ? 'plain' : 'ok'}>
                        {clientId === undefined ? 'no app' : 'set'}
                      </Badge>{' '}
                      {fromSettings && <span class="dim">by the settings of the service</span>}
                    </>
                  ),
                },
                { title: 'Client ID', isText: true, isMinor: true, cell: ({ clientId }) => <code>{clientId}</code> },
                {
                  title: 'Change',
                  isAction: true,
                  cell: ({ platform, clientId, fromSettings }) =>
                    !fromSettings && (
                      <>
                        <button type="button" class="quiet" onClick={() => open('set', platform)}>
                          Set <span class="hidden">the app of {connectionTitle(platform)}</span>
                        </button>
                        {clientId !== undefined && (
                          <button type="button" class="quiet" onClick={() => open('remove', platform)}>
                            Remove <span class="hidden">the app of {connectionTitle(platform)}</span>
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
      {opened === 'set' && named && <SetApp app={named} onSet={apps.reload} onClose={close} />}
      {removed && (
        <Confirm
          title={`Remove the app of ${connectionTitle(removed)}?`}
          verb="Remove"
          onClose={close}
          onConfirm={async () => {
            await dataOf(api.DELETE('/api/v1/oauth-apps/{platform}', { params: { path: { platform: removed } } }));
            apps.reload();
            toast(`The app of ${connectionTitle(removed)} is removed`);
          }}
        >
          Its client ID and secret are deleted here. Connections keep working with the tokens that they have, but no
          account can be connected or reconnected by signing in at {connectionTitle(removed)} until an app is set again.
        </Confirm>
      )}
    </SettingsPage>
  );
}

interface SetAppProps {
  app: OauthApp;
  onSet(): void;
  onClose(): void;
}

function SetApp({ app: { platform, redirectUri }, onSet, onClose }: SetAppProps) {
  const [clientId, setClientId] = useState('');
  const [clientSecret, setClientSecret] = useState('');
  const action = useAction();
  const title = connectionTitle(platform);
  const save = () =>
    action.run(async () => {
      const body = { clientId: clientId.trim(), clientSecret: clientSecret.trim() };
      await dataOf(api.PUT('/api/v1/oauth-apps/{platform}', { params: { path: { platform } }, body }));
      onSet();
      onClose();
      toast(`The app of ${title} is set`);
    });
  return (
    <FormDialog
      title={`The app of ${title}`}
      action={action}
      verb="Save"
      onSubmit={() => void save()}
      onClose={onClose}
    >
      <p>Register this address for the app at {title}:</p>
      <CopyText label="Redirect URI" text={redirectUri} />
      <TextField
        label="Client ID"
        required
        autocomplete="off"
        error={fieldError(action.problem, 'clientId')}
        value={clientId}
        onValue={setClientId}
      />
      <TextField
        label="Client secret"
        type="password"
        required
        autocomplete="off"
        error={fieldError(action.problem, 'clientSecret')}
        value={clientSecret}
        onValue={setClientSecret}
      />
    </FormDialog>
  );
}
