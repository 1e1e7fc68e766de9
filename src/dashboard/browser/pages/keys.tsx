import { api, dataOf, type Schemas } from '../api.js';
import { Badge } from '../components/badge.js';
import { CopyText } from '../components/copy.js';
import { Confirm } from '../components/forms/confirm.js';
import { Page, Panel } from '../components/panel.js';
import { Empty, Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { attempt } from '../components/toasts.js';
import { curlLine } from '../curl-line.js';
import { useData } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { mayWrite, type Site, useSession } from '../session.js';
import { CreateKey, RotateKey } from './key-dialogs.js';

type Key = Schemas['Key'];

/** The keys with which senders post conversions. */
export function Keys({ site }: { site: Site }) {
  const { user, localUrl, reloadSites } = useSession();
  const params = { path: { site: site.host } };
  const keys = useData(`keys ${site.host}`, () => dataOf(api.GET('/api/v1/sites/{site}/keys', { params })));
  const isWriter = mayWrite(user);
  const { opened, item, open, close } = useDialog();
  const named = isWriter ? keys.data?.items.find(({ id }) => id === item) : undefined;
  const revoking = opened === 'revoke' && named?.status === 'active' ? named : undefined;
  const switchInbound = async (enabled: boolean) => {
    await dataOf(api.PUT('/api/v1/sites/{site}/inbound', { params, body: { enabled } }));
    reloadSites();
    return `${site.host} accepts ${enabled ? '' : 'no '}conversions`;
  };
  const actions = isWriter && (
    <>
      {site.inbound && (
        <button type="button" onClick={() => open('refuse')}>
          Refuse conversions
        </button>
      )}
      <button type="button" class="primary" onClick={() => open('new')}>
        Create a key
      </button>
    </>
  );
  return (
    <Page title="Inbound keys" note={`With which your systems send conversions of ${site.host}`} actions={actions}>
      {!site.inbound && (
        <div class="problem warn" role="status">
          <div>
            <strong>{site.host} accepts no conversions.</strong> Requests are refused, also with a valid key.
          </div>
          {isWriter && (
            <button type="button" onClick={() => void attempt(() => switchInbound(true))}>
              Accept conversions
            </button>
          )}
        </div>
      )}
      <Show of={keys}>
        {({ items }) => (
          <Panel title="Keys" note="One per sending system, so that each can be revoked by itself">
            {items.length === 0 ? (
              <Empty title="No key yet">Create one, and send a conversion with the line that follows.</Empty>
            ) : (
              <Table
                label="Keys"
                rows={items}
                rowKey={({ id }) => id}
                columns={[
                  { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
                  { title: 'Begins with', cell: ({ prefix }) => <code>{prefix}…</code> },
                  { title: 'State', cell: KeyState },
                  {
                    title: 'Last used',
                    cell: ({ lastUsedAt }) =>
                      lastUsedAt ? <Time time={lastUsedAt} as="age" /> : <span class="dim">never</span>,
                  },
                  { title: 'Created', isMinor: true, cell: ({ createdAt }) => <Time time={createdAt} as="day" /> },
                  {
                    title: 'Change',
                    isAction: true,
                    cell: (key) =>
                      isWriter &&
                      key.status === 'active' && (
                        <>
                          {key.newKeyId === undefined && (
                            <button type="button" class="quiet" onClick={() => open('rotate', key.id)}>
                              Rotate <span class="hidden">{key.name}</span>
                            </button>
                          )}
                          <button type="button" class="quiet" onClick={() => open('revoke', key.id)}>
                            Revoke <span class="hidden">{key.name}</span>
                          </button>
                        </>
                      ),
                  },
                ]}
              />
            )}
          </Panel>
        )}
      </Show>
      <Panel title="Send a conversion" note="Replace the key, and paste it into a terminal">
        <div class="pad">
          <CopyText label="Sample request" text={curlLine(site.host, 'cc_…', localUrl)} />
        </div>
      </Panel>
      {opened === 'new' && isWriter && <CreateKey site={site.host} onCreated={keys.reload} onClose={close} />}
      {opened === 'rotate' && named && (
        <RotateKey site={site.host} rotated={named} onRotated={keys.reload} onClose={close} />
      )}
      {opened === 'refuse' && isWriter && site.inbound && (
        <Confirm
          title={`Refuse the conversions of ${site.host}?`}
          verb="Refuse"
          onClose={close}
          onConfirm={() => switchInbound(false)}
        >
          Requests are refused at once, also with a valid key, until you accept conversions again. Senders that do not
          repeat a refused request lose their conversions.
        </Confirm>
      )}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          verb="Revoke"
          onClose={close}
          onConfirm={async () => {
            const path = { site: site.host, id: revoking.id };
            await dataOf(api.DELETE('/api/v1/sites/{site}/keys/{id}', { params: { path } }));
            keys.reload();
          }}
        >
          Requests with this key are refused at once. It cannot be undone.
        </Confirm>
      )}
    </Page>
  );
}

function KeyState({ status, trial, expiresAt }: Key) {
  return (
    <>
      <Badge tone={status === 'active' ? 'ok' : 'plain'}>{status}</Badge>
      {trial && <Badge tone="wait">trial</Badge>}
      {status === 'active' && expiresAt !== undefined && (
        <div class="dim">
          until <Time time={expiresAt} />
        </div>
      )}
    </>
  );
}
