import { useMemo } from 'preact/hooks';
import { api, type Schemas } from '../../api.js';
import { Badge, Button } from '../../components/basics.js';
import { Confirm } from '../../components/forms/dialog.js';
import { Panel, Show } from '../../components/frame.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { type Column, Table } from '../../components/table.js';
import { toast } from '../../components/toasts.js';
import { useGet, useInterval } from '../../hooks/use-data.js';
import { useDialog } from '../../hooks/use-dialog.js';
import {
  orderedProjections,
  projectionDetail,
  projectionPurpose,
  projectionState,
  projectionsText,
} from '../../views/projection-view.js';

const REFRESH_MS = 2_000;

export function SettingsProjections() {
  const projections = useGet('/api/v1/projections');
  const { opened, item, open, close } = useDialog();
  useInterval(projections.reload, REFRESH_MS);
  const named = opened === 'rebuild' ? projections.data?.items.find(({ name }) => name === item) : undefined;
  // The list is read every few seconds: its columns stay the same.
  const columns = useMemo(() => columnsOf((name) => open('rebuild', name)), []);
  return (
    <SettingsPage path="/settings/projections">
      <Show of={projections}>
        {({ items }) => (
          <Panel title="Projections" note={projectionsText(items)}>
            <Table label="Projections" rows={orderedProjections(items)} rowKey={({ name }) => name} columns={columns} />
          </Panel>
        )}
      </Show>
      {named && (
        <Confirm
          title={`Rebuild ${named.name}?`}
          verb="Rebuild"
          onClose={close}
          onSubmit={async () => {
            await api.POST('/api/v1/projections/{name}/rebuild', { path: { name: named.name } });
            projections.reload();
            toast(`${named.name} is being rebuilt`);
          }}
        >
          The whole log is read again, which takes minutes if it has millions of events. The service goes on, and what
          is shown stays as it is until the new rows are complete. Erasures wait until then.
        </Confirm>
      )}
    </SettingsPage>
  );
}

const columnsOf = (onRebuild: (name: string) => void): Column<Schemas['Projection']>[] => [
  {
    title: 'Projection',
    cell: ({ name }) => (
      <>
        <strong>{name}</strong>
        <div class="dim minor">{projectionPurpose(name)}</div>
      </>
    ),
  },
  {
    title: 'State',
    cell: (projection) => {
      const [tone, text] = projectionState(projection);
      return <Badge tone={tone}>{text}</Badge>;
    },
  },
  { title: 'Lag', kind: 'number', cell: ({ lag }) => lag },
  { title: 'Position', kind: 'number', isMinor: true, cell: ({ position }) => position },
  { title: 'Details', kind: 'text', cell: (projection) => projectionDetail(projection) },
  {
    title: 'Rebuild',
    kind: 'action',
    cell: ({ name, state }) =>
      state !== 'rebuilding' && <Button kind="quiet" label="Rebuild" about={name} onClick={() => onRebuild(name)} />,
  },
];
