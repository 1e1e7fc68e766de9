import { useState } from 'preact/hooks';
import { api, dataOf, type Schemas } from '../api.js';
import { Badge } from '../components/badge.js';
import { Confirm } from '../components/confirm.js';
import { CopyText } from '../components/copy.js';
import { FormDialog } from '../components/dialog.js';
import { CheckField, TextField } from '../components/field.js';
import { Page, Panel } from '../components/panel.js';
import { ShownOnce } from '../components/shown-once.js';
import { Empty, Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { attempt } from '../components/toasts.js';
import { curlLine } from '../curl-line.js';
import { fieldError } from '../problem.js';
import { mayWrite, type Site, useSession } from '../session.js';
import { useAction, useData } from '../use-data.js';
import { useDialog } from '../use-dialog.js';

type Key = Schemas['Key'];

/** The keys with which senders post conversions. */
export function Keys({ site }: { site: Site }) {
  const { user, localUrl, reloadSites } = useSession();
  const params = { path: { site: site.host } };
  const keys = useData(`keys ${site.host}`, () => dataOf(api.GET('/api/v1/sites/{site}/keys', { params })));
  const isWriter = mayWrite(user);
  const { opened, item, open, close } = useDialog();
  const revoking =
    opened === 'revoke' && isWriter
      ? keys.data?.items.find(({ id, status }) => id === item && status === 'active')
      : undefined;
  const accept = () =>
    attempt(async () => {
      await dataOf(api.PUT('/api/v1/sites/{site}/inbound', { params, body: { enabled: true } }));
      reloadSites();
      return `${site.host} accepts conversions`;
    });
  const create = isWriter && (
    <button type="button" class="primary" onClick={() => open('new')}>
      Create a key
    </button>
  );
  return (
    <Page title="Inbound keys" note={`With which your systems send conversions of ${site.host}`} actions={create}>
      {!site.inbound && (
        <div class="problem warn" role="status">
          <div>
            <strong>{site.host} accepts no conversions.</strong> Requests are refused, also with a valid key.
          </div>
          {isWriter && (
            <button type="button" onClick={() => void accept()}>
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
                    title: 'Revoke',
                    isAction: true,
                    cell: (key) =>
                      isWriter &&
                      key.status === 'active' && (
                        <button type="button" class="quiet" onClick={() => open('revoke', key.id)}>
                          Revoke <span class="hidden">{key.name}</span>
                        </button>
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

function KeyState({ status, trial }: Key) {
  return (
    <>
      <Badge tone={status === 'active' ? 'ok' : 'plain'}>{status}</Badge>
      {trial && <Badge tone="wait">trial</Badge>}
    </>
  );
}

interface CreateKeyProps {
  site: string;
  onCreated(): void;
  onClose(): void;
}

function CreateKey({ site, onCreated, onClose }: CreateKeyProps) {
  const { localUrl } = useSession();
  const [name, setName] = useState('');
  const [isTrial, setTrial] = useState(false);
  const [key, setKey] = useState<string>();
  const action = useAction();
  const create = () =>
    action.run(async () => {
      const body = { name, trial: isTrial };
      const created = await dataOf(api.POST('/api/v1/sites/{site}/keys', { params: { path: { site } }, body }));
      setKey(created.key);
      onCreated();
    });
  if (key === undefined)
    return (
      <FormDialog title="Create a key" action={action} verb="Create" onSubmit={() => void create()} onClose={onClose}>
        <TextField
          label="Name"
          required
          autofocus
          maxLength={100}
          placeholder="Shop backend"
          help="The system that uses it."
          error={fieldError(action.problem, 'name')}
          value={name}
          onValue={setName}
        />
        <CheckField
          label="Trial"
          help="For testing an integration: payloads are built and validated, nothing is sent, and nothing is counted."
          checked={isTrial}
          onValue={setTrial}
        />
      </FormDialog>
    );
  return (
    <ShownOnce
      title={`The key of ${name}`}
      note="Store it where the sending system reads its secrets."
      label="Key"
      secret={key}
      onClose={onClose}
    >
      <p>Send a first conversion:</p>
      <CopyText label="Request with the key" text={curlLine(site, key, localUrl)} />
    </ShownOnce>
  );
}
