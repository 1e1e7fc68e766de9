import { useState } from 'preact/hooks';
import { api, type Schemas } from '../api.js';
import { Badge, Button, CopyText, Time } from '../components/basics.js';
import { Confirm, FormDialog } from '../components/forms/dialog.js';
import { CheckField, SelectField, TextField, useFields } from '../components/forms/fields.js';
import { Empty, Notice, Page, Panel, Show } from '../components/frame.js';
import { Table } from '../components/table.js';
import { attempt } from '../components/toasts.js';
import { curlLine } from '../curl-line.js';
import { useGet } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { type Site, useSession } from '../session.js';

type Key = Schemas['Key'];

/** The keys with which senders post conversions. */
export function Keys({ site: { host, inbound } }: { site: Site }) {
  const { isWriter, localUrl, reloadSites } = useSession();
  const path = { site: host };
  const keys = useGet('/api/v1/sites/{site}/keys', { path });
  const { opened, item, open, close } = useDialog(isWriter);
  const named = keys.data?.items.find(({ id }) => id === item);
  const switchInbound = async (enabled: boolean) => {
    await api.PUT('/api/v1/sites/{site}/inbound', { path, body: { enabled } });
    reloadSites();
    return `${host} accepts ${enabled ? '' : 'no '}conversions`;
  };
  const accept = () => attempt(() => switchInbound(true));
  return (
    <Page
      title="Inbound keys"
      note={`With which your systems send conversions of ${host}`}
      actions={
        isWriter && (
          <>
            {inbound && <Button label="Refuse conversions" onClick={() => open('refuse')} />}
            <Button kind="primary" label="Create a key" onClick={() => open('new')} />
          </>
        )
      }
    >
      {!inbound && (
        <Notice action={isWriter && <Button label="Accept conversions" onClick={accept} />}>
          <strong>{host} accepts no conversions.</strong> Requests are refused, also with a valid key.
        </Notice>
      )}
      <Show of={keys}>
        {({ items }) => (
          <Panel title="Keys" note="One per sending system, so that each can be revoked by itself">
            <Table
              label="Keys"
              rows={items}
              rowKey={({ id }) => id}
              empty={<Empty title="No key yet">Create one, and send a conversion with the line that follows.</Empty>}
              columns={[
                { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
                { title: 'Begins with', cell: ({ prefix }) => <code>{prefix}…</code> },
                { title: 'State', cell: KeyState },
                { title: 'Last used', cell: ({ lastUsedAt }) => <Time time={lastUsedAt} as="age" /> },
                { title: 'Created', isMinor: true, cell: ({ createdAt }) => <Time time={createdAt} as="day" /> },
                {
                  title: 'Change',
                  kind: 'action',
                  cell: ({ id, name, status, newKeyId }) =>
                    isWriter &&
                    status === 'active' && (
                      <>
                        {newKeyId === undefined && (
                          <Button kind="quiet" label="Rotate" about={name} onClick={() => open('rotate', id)} />
                        )}
                        <Button kind="quiet" label="Revoke" about={name} onClick={() => open('revoke', id)} />
                      </>
                    ),
                },
              ]}
            />
          </Panel>
        )}
      </Show>
      <Panel title="Send a conversion" note="Replace the key, and paste it into a terminal">
        <div class="pad">
          <CopyText label="Sample request" text={curlLine(host, 'cc_…', localUrl)} />
        </div>
      </Panel>
      {opened === 'new' && <CreateKey site={host} onCreated={keys.reload} onClose={close} />}
      {opened === 'rotate' && named && (
        <RotateKey site={host} rotated={named} onRotated={keys.reload} onClose={close} />
      )}
      {opened === 'refuse' && inbound && (
        <Confirm
          title={`Refuse the conversions of ${host}?`}
          verb="Refuse"
          onClose={close}
          onSubmit={async () => void (await switchInbound(false))}
        >
          Requests are refused at once, also with a valid key, until you accept conversions again. Senders that do not
          repeat a refused request lose their conversions.
        </Confirm>
      )}
      {opened === 'revoke' && named?.status === 'active' && (
        <Confirm
          title={`Revoke ${named.name}?`}
          verb="Revoke"
          onClose={close}
          onSubmit={async () => {
            await api.DELETE('/api/v1/sites/{site}/keys/{id}', { path: { site: host, id: named.id } });
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

interface CreateKeyProps {
  site: string;
  onCreated(): void;
  onClose(): void;
}

function CreateKey({ site, onCreated, onClose }: CreateKeyProps) {
  const { localUrl } = useSession();
  const { values, field } = useFields({ name: '', trial: false });
  const create = async () => {
    const { key } = await api.POST('/api/v1/sites/{site}/keys', { path: { site }, body: values });
    onCreated();
    return {
      title: `The key of ${values.name}`,
      note: 'Store it where the sending system reads its secrets.',
      label: 'Key',
      secret: key,
      children: (
        <>
          <p>Send a first conversion:</p>
          <CopyText label="Request with the key" text={curlLine(site, key, localUrl)} />
        </>
      ),
    };
  };
  return (
    <FormDialog title="Create a key" verb="Create" onSubmit={create} onClose={onClose}>
      <TextField
        {...field('name')}
        label="Name"
        required
        autofocus
        maxLength={100}
        placeholder="Shop backend"
        help="The system that uses it."
      />
      <CheckField
        {...field('trial')}
        label="Trial"
        help="For testing an integration: payloads are built and validated, nothing is sent, and nothing is counted."
      />
    </FormDialog>
  );
}

/** How long both keys are accepted, as the API names it. */
const OVERLAPS = [
  ['0s', 'Not at all: the old key is refused at once'],
  ['1h', '1 hour'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const;

interface RotateKeyProps {
  site: string;
  rotated: Schemas['Key'];
  onRotated(): void;
  onClose(): void;
}

/** Replaces a key. The sending system has the overlap to change over, so that no conversion is refused meanwhile. */
function RotateKey({ site, rotated: { id, name }, onRotated, onClose }: RotateKeyProps) {
  const [overlap, setOverlap] = useState<string>('24h');
  const rotate = async () => {
    const { key } = await api.POST('/api/v1/sites/{site}/keys/{id}/rotate', { path: { site, id }, body: { overlap } });
    onRotated();
    return {
      title: `The new key of ${name}`,
      note: 'Store it where the sending system reads its secrets. The list says until when the old key is accepted.',
      label: 'Key',
      secret: key,
    };
  };
  return (
    <FormDialog title={`Rotate ${name}`} verb="Rotate" onSubmit={rotate} onClose={onClose}>
      <p>A new key replaces this one. Give the sending system the new key before the old one is refused.</p>
      <SelectField label="Both keys are accepted for" value={overlap} options={OVERLAPS} onValue={setOverlap} />
    </FormDialog>
  );
}
