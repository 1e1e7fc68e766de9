import { api, clock } from '../api.js';
import { FormDialog } from '../components/forms/dialog.js';
import { EventKindOptions } from '../components/forms/event-kind-options.js';
import { Field, type fieldsOf, SelectField, TextField, useFields } from '../components/forms/fields.js';
import { connectionTitle } from '../format.js';
import { useGet } from '../hooks/use-data.js';
import { connectedNames } from '../views/connection-view.js';
import { type JobForm, jobRequest } from '../views/new-job-view.js';

const KINDS = [
  ['export', 'Export events to a file'],
  ['replay', 'Send deliveries again (dry run first)'],
  ['shadow', 'Replay with other rules; nothing is sent'],
] as const satisfies readonly (readonly [JobForm['kind'], string])[];

const FORMATS = [
  ['csv', 'CSV'],
  ['ndjson', 'NDJSON, one event per line'],
  ['parquet', 'Parquet'],
] as const;

const EMPTY: JobForm = {
  ...{ kind: 'export', format: 'csv', events: '', connection: '', from: '', to: '' },
  ...{ botThreshold: '', dedupWindow: '', settings: '' },
};

interface NewJobProps {
  site: string;
  onCreated(): void;
  onClose(): void;
}

export function NewJob({ site, onCreated, onClose }: NewJobProps) {
  const path = { site };
  const connections = useGet('/api/v1/sites/{site}/connections', { path });
  const connected = connectedNames(connections.data?.items);
  const { values, field } = useFields(EMPTY);
  const form = { ...values, connection: values.connection || (connected[0] ?? '') };
  const create = async () => {
    await api.POST('/api/v1/sites/{site}/jobs', { path, body: jobRequest(form, clock.nowMs()) });
    onCreated();
  };
  return (
    <FormDialog title="New job" verb="Start" onSubmit={create} onClose={onClose}>
      <SelectField {...field('kind')} label="What" options={KINDS} />
      {form.kind === 'export' && <SelectField {...field('format')} label="Format" options={FORMATS} />}
      {form.kind === 'export' && (
        <Field label="Events">
          {(control) => (
            <select
              {...control}
              value={form.events}
              onChange={(event) => field('events').onValue(event.currentTarget.value)}
            >
              <EventKindOptions />
            </select>
          )}
        </Field>
      )}
      <TextField {...field('from')} label="From" type="datetime-local" required={form.kind !== 'export'} />
      <TextField {...field('to')} label="Until (optional)" type="datetime-local" />
      {form.kind !== 'export' && connected.length > 0 && (
        <SelectField
          {...field('connection')}
          value={form.connection}
          label="Platform"
          help={
            form.kind === 'replay'
              ? 'Failed and skipped deliveries are counted. What would be sent is shown before anything is sent.'
              : 'The one that the settings below are for.'
          }
          options={connected.map((name) => [name, connectionTitle(name)])}
        />
      )}
      {form.kind === 'shadow' && <Rules field={field} hasConnections={connected.length > 0} />}
    </FormDialog>
  );
}

interface RulesProps {
  field: ReturnType<typeof fieldsOf<JobForm>>;
  hasConnections: boolean;
}

/** What the past is replayed with, in place of what applied then. */
function Rules({ field, hasConnections }: RulesProps) {
  const { value, onValue } = field('settings');
  return (
    <>
      {hasConnections && (
        <Field label="Settings of the platform (optional)" help="One in a line. The mapping of events is one of them.">
          {(control) => (
            <textarea
              {...control}
              rows={3}
              placeholder="event.purchase = Purchase"
              value={value}
              onInput={(event) => onValue(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
      <TextField
        {...field('botThreshold')}
        label="Bot threshold (optional)"
        help="A number from 0 to 100. The result is the difference to what happened."
      />
      <TextField {...field('dedupWindow')} label="Window of duplicates (optional)" placeholder="24h" />
    </>
  );
}
