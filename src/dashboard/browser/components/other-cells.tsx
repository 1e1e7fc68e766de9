import type { Schemas } from '../api.js';
import { useGet } from '../hooks/use-data.js';
import { pathOf } from '../navigation.js';
import { Panel, ProblemNote } from './frame.js';
import { type Column, Table } from './table.js';

interface Row {
  readonly cell: Schemas['Cell'];
  readonly host: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Site', cell: ({ cell, host }) => <a href={cell.url + pathOf(host, 'overview')}>{host}</a> },
  { title: 'Cell', cell: ({ cell }) => cell.name },
];

/** The sites of other cells, which are changed on the dashboards there. Loaded apart: a cell that is away must not hold the page up. */
export function OtherCells() {
  const { data, problem, reload } = useGet('/api/v1/cells');
  if (problem) return <ProblemNote problem={problem} retry={reload} />;
  if (!data || data.items.length === 0) return null;
  const rows = data.items.flatMap((cell) => (cell.sites ?? []).map(({ host }) => ({ cell, host })));
  return (
    <Panel title="Sites of other cells">
      {data.items.map(({ name, problem: reason }) =>
        reason === undefined ? null : (
          <ProblemNote key={name} problem={{ status: 0, title: `Cell ${name}:`, detail: reason }} retry={reload} />
        ),
      )}
      <Table
        label="Sites of other cells"
        rows={rows}
        rowKey={({ cell, host }) => `${cell.name} ${host}`}
        columns={COLUMNS}
      />
    </Panel>
  );
}
