import { useMemo } from 'preact/hooks';
import { api, dataOf, type Schemas } from '../../api.js';
import { Badge } from '../../components/badge.js';
import { Confirm } from '../../components/forms/confirm.js';
import { Panel } from '../../components/panel.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Empty, Show } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { toast } from '../../components/toasts.js';
import { formatNumber } from '../../format.js';
import { useData, useInterval } from '../../hooks/use-data.js';
import { useDialog } from '../../hooks/use-dialog.js';
import { mayOperateAll, useSession } from '../../session.js';
import {
  orderedProjections,
  projectionDetail,
  projectionPurpose,
  projectionState,
  projectionsText,
} from '../../views/projection-view.js';

type Projection = Schemas['Projection'];

const TITLE = { title: 'Projections', note: 'The rows that numbers and searches are read from, folded from the log' };
const REFRESH_MS = 2_000;

export function SettingsProjections() {
  const { user } = useSession();
  if (mayOperateAll(user)) return <Projections />;
  return (
    <SettingsPage {...TITLE}>
      <Empty title="Only those who operate all sites see the projections" />
    </SettingsPage>
  );
}

function Projections() {
  const projections = useData('projections', () => dataOf(api.GET('/api/v1/projections')));
  const { opened, item, open, close } = useDialog();
  useInterval(projections.reload, REFRESH_MS);
  const named = opened === 'rebuild' ? projections.data?.items.find(({ name }) => name === item) : undefined;
  // The list is read every few seconds: its columns stay the same.
  const columns = useMemo(() => columnsOf((name) => open('rebuild', name)), []);
  return (
    <SettingsPage {...TITLE}>
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
          onConfirm={async () => {
            const params = { path: { name: named.name } };
            await dataOf(api.POST('/api/v1/projections/{name}/rebuild', { params }));
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

const columnsOf = (onRebuild: (name: string) => void): Column<Projection>[] => [
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
  { title: 'Lag', isNumber: true, cell: ({ lag }) => formatNumber(lag) },
  { title: 'Position', isNumber: true, isMinor: true, cell: ({ position }) => formatNumber(position) },
  { title: 'Details', isText: true, cell: (projection) => projectionDetail(projection) },
  {
    title: 'Rebuild',
    isAction: true,
    cell: ({ name, state }) =>
      state !== 'rebuilding' && (
        <button type="button" class="quiet" onClick={() => onRebuild(name)}>
          Rebuild <span class="hidden">{name}</span>
        </button>
      ),
  },
];
