import { useState } from 'preact/hooks';
import { api, dataOf, type Schemas } from '../api.js';
import { FormDialog } from '../components/dialog.js';
import { Field, SelectField, TextField } from '../components/field.js';
import { connectionTitle } from '../format.js';
import { fromLocal } from '../local-time.js';
import { useAction, useData } from '../use-data.js';

const KINDS = [
  ['export', 'Export events to a file'],
  ['replay', 'Send deliveries again (dry run first)'],
  ['shadow', 'Replay with other rules; nothing is sent'],
] as const;

interface NewJobProps {
  site: string;
  onCreated(): void;
  onClose(): void;
}

export function NewJob({ site, onCreated, onClose }: NewJobProps) {
  const params = { path: { site } };
  const connections = useData(`connections ${site}`, () =>
    dataOf(api.GET('/api/v1/sites/{site}/connections', { params })),
  );
  const connected = connections.data?.items.filter((item) => item.connected).map(({ platform }) => platform) ?? [];
  const [kind, setKind] = useState<(typeof KINDS)[number][0]>('export');
  const [format, setFormat] = useState<'ndjson' | 'csv' | 'parquet'>('csv');
  const [platform, setPlatform] = useState('');
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [threshold, setThreshold] = useState('');
  const action = useAction();
  const requestOf = (): Schemas['NewJob'] => {
    const [start, end] = [fromLocal(from), fromLocal(to)];
    const range = { ...(start && { from: start }), ...(end && { to: end }) };
    if (kind === 'export') return { kind, format, ...range };
    if (kind === 'replay') return { kind, platform: platform || (connected[0] ?? ''), force: false, ...range };
    const rules = threshold === '' ? {} : { botThreshold: Number(threshold) };
    return { kind, from: start ?? '', to: end ?? new Date().toISOString(), ...rules };
  };
  const create = async () => {
    const isCreated = await action.run(async () => {
      await dataOf(api.POST('/api/v1/sites/{site}/jobs', { params, body: requestOf() }));
    });
    if (!isCreated) return;
    onCreated();
    onClose();
  };
  return (
    <FormDialog title="New job" action={action} verb="Start" onSubmit={() => void create()} onClose={onClose}>
      <SelectField label="What" value={kind} options={KINDS} onValue={(value) => setKind(value as typeof kind)} />
      {kind === 'export' && (
        <SelectField
          label="Format"
          value={format}
          options={[
            ['csv', 'CSV'],
            ['ndjson', 'NDJSON, one event per line'],
            ['parquet', 'Parquet'],
          ]}
          onValue={(value) => setFormat(value as typeof format)}
        />
      )}
      {kind === 'replay' && (
        <SelectField
          label="Platform"
          help="Failed and skipped deliveries are counted. What would be sent is shown before anything is sent."
          value={platform}
          options={connected.map((name) => [name, connectionTitle(name)] as const)}
          onValue={setPlatform}
        />
      )}
      {kind === 'shadow' && (
        <TextField
          label="Bot threshold (optional)"
          help="In place of the current one. The result is the difference to what happened."
          value={threshold}
          onValue={setThreshold}
        />
      )}
      <Moment label="From" value={from} isRequired={kind !== 'export'} onValue={setFrom} />
      <Moment label="Until (optional)" value={to} isRequired={false} onValue={setTo} />
    </FormDialog>
  );
}

interface MomentProps {
  label: string;
  value: string;
  isRequired: boolean;
  onValue(value: string): void;
}

function Moment({ label, value, isRequired, onValue }: MomentProps) {
  return (
    <Field label={label}>
      {(control) => (
        <input
          {...control}
          type="datetime-local"
          required={isRequired}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
