import { api, type Schemas } from '../../api.js';
import { Badge, Button, CopyText } from '../../components/basics.js';
import { Confirm, FormDialog } from '../../components/forms/dialog.js';
import { TextField, useFields } from '../../components/forms/fields.js';
import { Panel, Show } from '../../components/frame.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { type Column, Table } from '../../components/table.js';
import { toast } from '../../components/toasts.js';
import { connectionTitle } from '../../format.js';
import { useGet } from '../../hooks/use-data.js';
import { type OpenedDialog, useDialog } from '../../hooks/use-dialog.js';

type OauthApp = Schemas['OauthApp'];

/** The operator's own apps at platforms, with which people sign in there to connect them. */
export function SettingsOauthApps() {
  const apps = useGet('/api/v1/oauth-apps');
  const { opened, item, open, close } = useDialog();
  const named = apps.data?.items.find(({ platform, fromSettings }) => platform === item && !fromSettings);
  const title = connectionTitle(named?.platform ?? '');
  return (
    <SettingsPage path="/settings/oauth-apps">
      <Show of={apps}>
        {({ items }) => (
          <Panel title="Apps">
            <Table label="OAuth apps" rows={items} rowKey={({ platform }) => platform} columns={columnsOf(open)} />
          </Panel>
        )}
      </Show>
      {opened === 'set' && named && <SetApp app={named} onSet={apps.reload} onClose={close} />}
      {opened === 'remove' && named?.clientId !== undefined && (
        <Confirm
          title={`Remove the app of ${title}?`}
          verb="Remove"
          onClose={close}
          onSubmit={async () => {
            await api.DELETE('/api/v1/oauth-apps/{platform}', { path: { platform: named.platform } });
            apps.reload();
            toast(`The app of ${title} is removed`);
          }}
        >
          Its client ID and secret are deleted here. Connections keep working with the tokens that they have, but no
          account can be connected or reconnected by signing in at {title} until an app is set again.
        </Confirm>
      )}
    </SettingsPage>
  );
}

const columnsOf = (open: OpenedDialog['open']): Column<OauthApp>[] => [
  { title: 'Platform', cell: ({ platform }) => <strong>{connectionTitle(platform)}</strong> },
  {
    title: 'State',
    cell: ({ clientId, fromSettings }) => (
      <>
        <Badge tone={clientId === undefined ? 'plain' : 'ok'}>{clientId === undefined ? 'no app' : 'set'}</Badge>{' '}
        {fromSettings && <span class="dim">by the settings of the service</span>}
      </>
    ),
  },
  { title: 'Client ID', kind: 'text', isMinor: true, cell: ({ clientId }) => <code>{clientId}</code> },
  {
    title: 'Change',
    kind: 'action',
    cell: ({ platform, clientId, fromSettings }) => {
      if (fromSettings) return null;
      const about = `the app of ${connectionTitle(platform)}`;
      return (
        <>
          <Button kind="quiet" label="Set" about={about} onClick={() => open('set', platform)} />
          {clientId !== undefined && (
            <Button kind="quiet" label="Remove" about={about} onClick={() => open('remove', platform)} />
          )}
        </>
      );
    },
  },
];

interface SetAppProps {
  app: OauthApp;
  onSet(): void;
  onClose(): void;
}

function SetApp({ app: { platform, redirectUri }, onSet, onClose }: SetAppProps) {
  const { values, field } = useFields({ clientId: '', clientSecret: '' });
  const title = connectionTitle(platform);
  const save = async () => {
    const body = { clientId: values.clientId.trim(), clientSecret: values.clientSecret.trim() };
    await api.PUT('/api/v1/oauth-apps/{platform}', { path: { platform }, body });
    onSet();
    toast(`The app of ${title} is set`);
  };
  return (
    <FormDialog title={`The app of ${title}`} verb="Save" onSubmit={save} onClose={onClose}>
      <p>Register this address for the app at {title}:</p>
      <CopyText label="Redirect URI" text={redirectUri} />
      <TextField {...field('clientId')} label="Client ID" required autocomplete="off" />
      <TextField {...field('clientSecret')} label="Client secret" type="password" required autocomplete="off" />
    </FormDialog>
  );
}
