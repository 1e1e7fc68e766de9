import { useState } from 'preact/hooks';
import { api, clock, dataOf } from '../api.js';
import { FormDialog } from '../components/forms/dialog.js';
import { EventKindOptions } from '../components/forms/event-kind-options.js';
import { Field, SelectField, TextField } from '../components/forms/field.js';
import { connectionTitle } from '../format.js';
import { useAction, useData } from '../hooks/use-data.js';
import { type JobForm, jobRequest } from '../views/new-job-view.js';

const KINDS = [
  ['export', 'Export events to a file'],
  ['replay', 'Send deliveries again (dry run first)'],
  ['shadow', 'Replay with other rules; nothing is sent'],
] as const satisfies readonly (readonly [JobForm['kind'], string])[];

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
  const params = { path: { site } };
  const connections = useData(`connections ${site}`, () =>
    dataOf(api.GET('/api/v1/sites/{site}/connections', { params })),
  );
  const connected = connections.data?.items.filter((item) => item.connected).map(({ platform }) => platform) ?? [];
  const [entered, setEntered] = useState(EMPTY);
  const form = { ...entered, connection: entered.connection || (connected[0] ?? '') };
  const enter = (part: Partial<JobForm>) => setEntered((before) => ({ ...before, ...part }));
  const action = useAction();
  const create = async () => {
    const isCreated = await action.run(async () => {
      const body = jobRequest(form, clock.nowMs());
      await dataOf(api.POST('/api/v1/sites/{site}/jobs', { params, body }));
    });
    if (!isCreated) return;
    onCreated();
    onClose();
  };
  return (
    <FormDialog title="New job" action={action} verb="Start" onSubmit={() => void create()} onClose={onClose}>
      <SelectField
        label="What"
        value={form.kind}
        options={KINDS}
        onValue={(value) => enter({ kind: value as JobForm['kind'] })}
      />
      {form.kind === 'export' && (
        <SelectField
          label="Format"
          value={form.format}
          options={[
            ['csv', 'CSV'],
            ['ndjson', 'NDJSON, one event per line'],
            ['parquet', 'Parquet'],
          ]}
          onValue={(value) => enter({ format: value as JobForm['format'] })}
        />
      )}
      {form.kind === 'export' && (
        <Field label="Events">
          {(control) => (
            <select {...control} value={form.events} onChange={(event) => enter({ events: event.currentTarget.value })}>
              <EventKindOptions />
            </select>
          )}
        </Field>
      )}
      <MomentField
        label="From"
        isRequired={form.kind !== 'export'}
        value={form.from}
        onValue={(from) => enter({ from })}
      />
      <MomentField label="Until (optional)" isRequired={false} value={form.to} onValue={(to) => enter({ to })} />
      {form.kind !== 'export' && connected.length > 0 && (
        <SelectField
          label="Platform"
          help={
            form.kind === 'replay'
              ? 'Failed and skipped deliveries are counted. What would be sent is shown before anything is sent.'
              : 'The one that the settings below are for.'
          }
          value={form.connection}
          options={connected.map((name) => [name, connectionTitle(name)] as const)}
          onValue={(connection) => enter({ connection })}
        />
      )}
      {form.kind === 'shadow' && <Rules form={form} onEnter={enter} hasConnections={connected.length > 0} />}
    </FormDialog>
  );
}

interface RulesProps {
  form: JobForm;
  onEnter(part: Partial<JobForm>): void;
  hasConnections: boolean;
}

/** What the past is replayed with, in place of what applied then. */
function Rules({ form, onEnter, hasConnections }: RulesProps) {
  return (
    <>
      {hasConnections && (
        <Field label="Settings of the platform (optional)" help="One in a line. The mapping of events is one of them.">
          {(control) => (
            <textarea
              {...control}
              rows={3}
              placeholder="event.purchase = Purchase"
              value={form.settings}
              onInput={(event) => onEnter({ settings: event.currentTarget.value })}
            />
          )}
        </Field>
      )}
      <TextField
        label="Bot threshold (optional)"
        help="A number from 0 to 100. The result is the difference to what happened."
        value={form.botThreshold}
        onValue={(botThreshold) => onEnter({ botThreshold })}
      />
      <TextField
        label="Window of duplicates (optional)"
        placeholder="24h"
        value={form.dedupWindow}
        onValue={(dedupWindow) => onEnter({ dedupWindow })}
      />
    </>
  );
}

interface MomentFieldProps {
  label: string;
  isRequired: boolean;
  value: string;
  onValue(value: string): void;
}

function MomentField({ label, isRequired, value, onValue }: MomentFieldProps) {
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
