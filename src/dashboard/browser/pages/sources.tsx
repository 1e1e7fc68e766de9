import { api, type Schemas } from '../api.js';
import { Badge, Button, CopyText, Facts, Time } from '../components/basics.js';
import { Confirm, FormDialog } from '../components/forms/dialog.js';
import { SelectField, TextField, useFields } from '../components/forms/fields.js';
import { Notice, Page, Panel, Show } from '../components/frame.js';
import { Table } from '../components/table.js';
import { toast } from '../components/toasts.js';
import { useGet } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { conversionPath } from '../navigation.js';
import { type Site, useSession } from '../session.js';
import { lastDelivery, rulesText, trialText } from '../views/source-rules-view.js';
import { SourceRules } from './source-rules.js';

type Source = Schemas['InboundSource'];

/** Of each source. */
const SHOWN_MAX = 10;

/** The shops and tools whose webhooks become conversions. */
export function Sources({ site: { host, inbound } }: { site: Site }) {
  const { isWriter } = useSession();
  const sources = useGet('/api/v1/sites/{site}/inbound-sources', { path: { site: host } });
  const { opened, item, open, close } = useDialog(isWriter);
  const named = sources.data?.items.find(({ source }) => source === item);
  const path = { site: host, source: named?.source ?? 'shopify' };
  return (
    <Page title="Sources" note={`Shops and tools whose webhooks become conversions of ${host}`}>
      {!inbound && (
        <Notice>
          <strong>{host} accepts no conversions.</strong> Deliveries are refused until inbound is enabled.
        </Notice>
      )}
      <Show of={sources}>
        {({ items }) => (
          <>
            <Panel title="Sources" note="One connection each, with an address and a secret of its own">
              <Table
                label="Sources"
                rows={items}
                rowKey={({ source }) => source}
                columns={[
                  { title: 'Source', cell: ({ label }) => <strong>{label}</strong> },
                  { title: 'State', cell: SourceState },
                  {
                    title: 'Last delivery',
                    cell: ({ deliveries }) => <Time time={lastDelivery(deliveries)?.time ?? null} as="age" />,
                  },
                  {
                    title: 'Refused',
                    cell: ({ refused }) =>
                      refused.map(({ reason, count }) => `${reason} ${count}`).join(', ') || 'none',
                  },
                  {
                    title: 'Change',
                    kind: 'action',
                    cell: ({ source, label, connection }) =>
                      isWriter && (
                        <>
                          <Button
                            kind="quiet"
                            label={connection ? 'Set the secret' : 'Connect'}
                            about={label}
                            onClick={() => open('connect', source)}
                          />
                          {connection && (
                            <>
                              <Button
                                kind="quiet"
                                label="Rotate"
                                about={label}
                                onClick={() => open('rotate', source)}
                              />
                              <Button
                                kind="quiet"
                                label="Disconnect"
                                about={label}
                                onClick={() => open('disconnect', source)}
                              />
                            </>
                          )}
                        </>
                      ),
                  },
                ]}
              />
            </Panel>
            {items.flatMap((each) =>
              each.connection
                ? [<Connected key={each.source} site={host} {...each} onOpen={isWriter ? open : undefined} />]
                : [],
            )}
          </>
        )}
      </Show>
      {opened === 'connect' && named && (
        <SecretDialog
          title={named.connection ? `Set the secret of ${named.label}` : `Connect ${named.label}`}
          verb={named.connection ? 'Set' : 'Connect'}
          source={named}
          onClose={close}
          onSubmit={async (secret) => {
            const connection = await api.PUT('/api/v1/sites/{site}/inbound-sources/{source}', { path, body: secret });
            sources.reload();
            return connection.secret;
          }}
        />
      )}
      {opened === 'rotate' && named?.connection && (
        <SecretDialog
          title={`Rotate the secret of ${named.label}`}
          verb="Rotate"
          source={named}
          note="For 24 hours, the secret before is accepted, too."
          onClose={close}
          onSubmit={async (secret) => {
            const body = { ...secret, overlap: '24h' };
            const connection = await api.POST('/api/v1/sites/{site}/inbound-sources/{source}/rotate', { path, body });
            sources.reload();
            return connection.secret;
          }}
        />
      )}
      {opened === 'rules' && named?.connection && (
        <SourceRules
          site={host}
          source={named.source}
          label={named.label}
          fixtures={named.fixtures}
          deliveries={named.deliveries}
          changes={rulesText(named.connection.mapping)}
          onSaved={sources.reload}
          onClose={close}
        />
      )}
      {opened === 'test' && named?.connection && (
        <TestDialog
          source={named}
          onClose={close}
          onSubmit={async (fixture) => {
            const body = { fixture };
            const tried = await api.POST('/api/v1/sites/{site}/inbound-sources/{source}/trial', { path, body });
            sources.reload();
            toast(trialText(tried));
          }}
        />
      )}
      {opened === 'disconnect' && named?.connection && (
        <Confirm
          title={`Disconnect ${named.label}?`}
          verb="Disconnect"
          onClose={close}
          onSubmit={async () => {
            await api.DELETE('/api/v1/sites/{site}/inbound-sources/{source}', { path });
            sources.reload();
          }}
        >
          Its deliveries are refused at once, and its secret is deleted. A new connection has another address.
        </Confirm>
      )}
    </Page>
  );
}

interface TestDialogProps {
  source: Source;
  onSubmit(fixture: string): Promise<void>;
  onClose(): void;
}

function TestDialog({ source: { label, fixtures }, onSubmit, onClose }: TestDialogProps) {
  const { values, field } = useFields({ fixture: fixtures[0] ?? '' });
  return (
    <FormDialog title={`Test ${label}`} verb="Send" onSubmit={() => onSubmit(values.fixture)} onClose={onClose}>
      <SelectField
        {...field('fixture')}
        label="Documented delivery"
        options={fixtures.map((name) => [name, name] as const)}
      />
      <p>
        It becomes a trial conversion with an order of its own: checked for every platform, not sent and not counted.
      </p>
    </FormDialog>
  );
}

function SourceState({ connection }: Source) {
  if (!connection) return <Badge>not connected</Badge>;
  if (connection.state === 'no_secret') return <Badge tone="wait">needs its secret</Badge>;
  return <Badge tone="ok">active</Badge>;
}

interface ConnectedProps extends Source {
  site: string;
  /** Undefined for those who change nothing. */
  onOpen: ((dialog: string, source: string) => void) | undefined;
}

function Connected({ site, source, label, connection, deliveries, refused, onOpen }: ConnectedProps) {
  if (!connection) return null;
  return (
    <Panel title={label} note="The newest deliveries, and what became of them">
      <div class="pad">
        <CopyText label={`Address for ${label}`} text={connection.url} />
        {onOpen && (
          <div class="buttons">
            <Button label="Rules" about={label} onClick={() => onOpen('rules', source)} />
            <Button label="Test" about={label} onClick={() => onOpen('test', source)} />
          </div>
        )}
        {connection.previousUntil !== undefined && (
          <p class="dim">
            The secret before is accepted until <Time time={connection.previousUntil} />.
          </p>
        )}
      </div>
      <Table
        label={`Deliveries of ${label}`}
        rows={deliveries.slice(0, SHOWN_MAX)}
        rowKey={({ time, topic }) => `${time} ${topic}`}
        empty={<p class="state">Nothing was delivered yet.</p>}
        columns={[
          { title: 'Time', cell: ({ time }) => <Time time={time} /> },
          { title: 'Topic', cell: ({ topic }) => <code>{topic}</code> },
          {
            title: 'Outcome',
            cell: ({ outcome, reason }) => (reason === undefined ? outcome : `${outcome}: ${reason}`),
          },
          {
            title: 'Conversion',
            cell: ({ conversionId }) =>
              conversionId !== undefined && <a href={conversionPath(site, conversionId)}>{conversionId.slice(0, 8)}</a>,
          },
        ]}
      />
      {refused.length > 0 && (
        <Facts
          isPadded
          rows={refused.map(({ reason, count, last }) => ({
            name: `Refused: ${reason}`,
            value: (
              <>
                {count}, last <Time time={last} />
              </>
            ),
          }))}
        />
      )}
    </Panel>
  );
}

interface SecretDialogProps {
  title: string;
  verb: string;
  source: Source;
  note?: string;
  /** Returns a secret that was generated. */
  onSubmit(secret: { secret?: string }): Promise<string | undefined>;
  onClose(): void;
}

function SecretDialog({ title, verb, source, note, onSubmit, onClose }: SecretDialogProps) {
  const { values, field } = useFields({ secret: '' });
  const submit = async () => {
    const generated = await onSubmit(values.secret === '' ? {} : values);
    if (generated === undefined) return undefined;
    return {
      title: `The secret of ${source.label}`,
      note: 'Give it to the sender.',
      label: 'Secret',
      secret: generated,
    };
  };
  return (
    <FormDialog title={title} verb={verb} onSubmit={submit} onClose={onClose}>
      <TextField
        {...field('secret')}
        label="Signing secret"
        type="password"
        autocomplete="off"
        maxLength={512}
        help={
          source.secretFrom === 'given'
            ? `${source.label} shows it where you enter the address. Leave it empty to get the address first.`
            : 'Leave it empty to have one made.'
        }
      />
      {note !== undefined && <p>{note}</p>}
    </FormDialog>
  );
}
