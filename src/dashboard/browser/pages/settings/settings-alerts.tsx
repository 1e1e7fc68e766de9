import { api, type Schemas } from '../../api.js';
import { Badge, Button, Time } from '../../components/basics.js';
import { Confirm, FormDialog } from '../../components/forms/dialog.js';
import { CheckField, Form, SelectField, TextField, useFields } from '../../components/forms/fields.js';
import { SiteChoice } from '../../components/forms/site-choice.js';
import { Empty, Panel, Show } from '../../components/frame.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Table } from '../../components/table.js';
import { attempt } from '../../components/toasts.js';
import { useGet } from '../../hooks/use-data.js';
import { useDialog } from '../../hooks/use-dialog.js';

type Channel = Schemas['AlertChannel'];
type Rules = Schemas['AlertRules'];

const KINDS: readonly (readonly [Channel['kind'], string])[] = [
  ['email', 'Email'],
  ['slack', 'Slack'],
  ['webhook', 'Webhook'],
];

const titleOf = (kind: Channel['kind']) => KINDS.find(([each]) => each === kind)?.[1] ?? kind;
const nameOf = ({ name, to, kind }: Channel) => name ?? to ?? titleOf(kind);

/** Who is told of what needs attention, and by which rules it does. */
export function SettingsAlerts() {
  const channels = useGet('/api/v1/alerts/channels');
  const rules = useGet('/api/v1/alerts/rules');
  const { opened, item, open, close } = useDialog();
  const removing = opened === 'remove' ? channels.data?.items.find(({ id }) => id === item) : undefined;
  return (
    <SettingsPage
      path="/settings/alerts"
      actions={<Button kind="primary" label="Add a channel" onClick={() => open('new')} />}
    >
      <Show of={channels}>
        {({ items }) => (
          <Panel title="Channels">
            <Table
              label="Channels"
              rows={items}
              rowKey={({ id }) => id}
              empty={
                <Empty title="No one is told">
                  A channel is told once when something starts to need attention, and once when it ends.
                </Empty>
              }
              columns={[
                { title: 'Kind', cell: ({ kind }) => titleOf(kind) },
                { title: 'To', cell: (channel) => <strong>{nameOf(channel)}</strong> },
                { title: 'Sites', isMinor: true, cell: ({ sites }) => (sites === null ? 'all' : sites.join(', ')) },
                {
                  title: 'Told of',
                  isMinor: true,
                  cell: ({ severity }) => (severity === 'error' ? 'errors' : 'errors and warnings'),
                },
                { title: 'Added', isMinor: true, cell: ({ createdAt }) => <Time time={createdAt} as="day" /> },
                {
                  title: 'State',
                  cell: ({ paused }) => <Badge tone={paused ? 'warn' : 'ok'}>{paused ? 'paused' : 'active'}</Badge>,
                },
                {
                  title: 'Actions',
                  kind: 'action',
                  cell: (channel) => (
                    <Actions
                      channel={channel}
                      onChanged={channels.reload}
                      onRemove={() => open('remove', channel.id)}
                    />
                  ),
                },
              ]}
            />
          </Panel>
        )}
      </Show>
      <Show of={rules}>
        {(current) => <RulesPanel key={JSON.stringify(current)} rules={current} onChanged={rules.reload} />}
      </Show>
      {opened === 'new' && <AddChannel onAdded={channels.reload} onClose={close} />}
      {removing && (
        <Confirm
          title={`Remove ${nameOf(removing)}?`}
          verb="Remove"
          onClose={close}
          onSubmit={async () => {
            await api.DELETE('/api/v1/alerts/channels/{id}', { path: { id: removing.id } });
            channels.reload();
          }}
        >
          What waits to be sent to it is not sent.
        </Confirm>
      )}
    </SettingsPage>
  );
}

function Actions({ channel, onChanged, onRemove }: { channel: Channel; onChanged(): void; onRemove(): void }) {
  const { id, paused } = channel;
  const about = nameOf(channel);
  const test = () =>
    attempt(async () => {
      const { ok, reason } = await api.POST('/api/v1/alerts/channels/{id}/test', { path: { id } });
      if (!ok) throw new Error(`The test was not accepted: ${reason ?? 'no reason given'}`);
      return 'The test was accepted';
    });
  const pause = () =>
    attempt(async () => {
      await api.PATCH('/api/v1/alerts/channels/{id}', { path: { id }, body: { paused: !paused } });
      onChanged();
      return paused ? 'The channel is told again' : 'The channel is paused';
    });
  return (
    <>
      <Button kind="quiet" label="Send a test" about={about} onClick={test} />
      <Button kind="quiet" label={paused ? 'Resume' : 'Pause'} about={about} onClick={pause} />
      <Button kind="quiet" label="Remove" about={about} onClick={onRemove} />
    </>
  );
}

interface ChannelForm {
  readonly kind: Channel['kind'];
  readonly to: string;
  readonly name: string;
  readonly sites: string[] | null;
  readonly onlyErrors: boolean;
}

const NEW_CHANNEL: ChannelForm = { kind: 'email', to: '', name: '', sites: null, onlyErrors: false };

function AddChannel({ onAdded, onClose }: { onAdded(): void; onClose(): void }) {
  const { values, field } = useFields(NEW_CHANNEL);
  const { kind, to, name, sites, onlyErrors } = values;
  const add = async () => {
    const severity = onlyErrors ? ('error' as const) : ('warning' as const);
    const body = { kind, to: to.trim(), sites, severity, ...(name.trim() !== '' && { name: name.trim() }) };
    const { secret } = await api.POST('/api/v1/alerts/channels', { body });
    onAdded();
    if (secret === undefined) return undefined;
    return { title: 'The signing secret', note: 'The receiver checks requests by it.', label: 'Secret', secret };
  };
  return (
    <FormDialog title="Add a channel" verb="Add" onSubmit={add} onClose={onClose}>
      <SelectField {...field('kind')} label="Kind" options={KINDS} />
      <TextField
        {...field('to')}
        label={kind === 'email' ? 'Email address' : 'URL'}
        required
        autofocus
        maxLength={2_048}
        placeholder={kind === 'email' ? 'ops@shop.example' : 'https://hooks.shop.example/alerts'}
        help={kind === 'slack' ? 'Of an incoming webhook of Slack.' : undefined}
      />
      <TextField {...field('name')} label="Name" maxLength={100} help="What it is called in this list." />
      <SiteChoice sites={sites} onChange={field('sites').onValue} />
      <CheckField label="Errors only" value={onlyErrors} onValue={field('onlyErrors').onValue} />
    </FormDialog>
  );
}

const RULES: readonly (readonly [keyof Rules, string, string])[] = [
  ['refusedPercent', 'Refused conversions, %', 'Of a connection, in a day.'],
  [
    'silentGaps',
    'Silence, in usual gaps',
    'Between conversions, in the same hours of the quietest of the last four weeks.',
  ],
  [
    'matchRateDropPercent',
    'Match rate below the usual, %',
    'Today and yesterday, compared with the four weeks before.',
  ],
  ['connectionExpiryDays', 'Days before an access token expires', 'Of a platform.'],
  ['tokenExpiryDays', 'Days before an API token expires', ''],
];

function RulesPanel({ rules, onChanged }: { rules: Rules; onChanged(): void }) {
  const initial = Object.fromEntries(RULES.map(([name]) => [name, String(rules[name])])) as Record<keyof Rules, string>;
  const { values, field } = useFields(initial);
  const save = async () => {
    const body = Object.fromEntries(RULES.map(([name]) => [name, Number(values[name])]));
    await api.PATCH('/api/v1/alerts/rules', { body });
    onChanged();
  };
  return (
    <Panel title="Rules">
      <Form class="pad form" verb="Save" onSubmit={save}>
        {RULES.map(([name, label, help]) => (
          <TextField key={name} {...field(name)} label={label} required help={help} />
        ))}
      </Form>
    </Panel>
  );
}
