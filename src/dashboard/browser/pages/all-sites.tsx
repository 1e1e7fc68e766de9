import { api, type Schemas } from '../api.js';
import { AsOf } from '../components/basics.js';
import { Panel, ProblemNote } from '../components/frame.js';
import { PeriodPage } from '../components/period-page.js';
import { PlatformsOfAllSites } from '../components/platforms.js';
import { type Column, Table } from '../components/table.js';
import { formatShare } from '../format.js';
import { useGet } from '../hooks/use-data.js';
import { usePeriod } from '../hooks/use-period.js';
import { pathOf, withQuery } from '../navigation.js';
import { mayOperateAll, useSession } from '../session.js';
import { exactValues, sumTotals, valuesText } from '../views/overview-view.js';

/** What needs attention anywhere, the figures of all sites together, and those of each. */
export function AllSites() {
  const { user } = useSession();
  const period = usePeriod();
  return (
    <PeriodPage
      title="All sites"
      period={period}
      read={{
        totals: (query) => api.GET('/api/v1/totals', { query }),
        series: (query) => api.GET('/api/v1/series', { query }),
        sources: (query) => api.GET('/api/v1/sources', { query }),
      }}
      sum={({ items }) => sumTotals(items)}
      actions={
        mayOperateAll(user) && (
          <a class="button" href="/sites/new">
            Add a site
          </a>
        )
      }
    >
      {(totals, series) => (
        <>
          <Sites totals={totals} days={String(period.days)} />
          <OtherCells />
          <PlatformsOfAllSites series={series} />
        </>
      )}
    </PeriodPage>
  );
}

function Sites({ totals, days }: { totals: Schemas['AllTotals']; days: string }) {
  return (
    <Panel title="Sites" note={<AsOf time={totals.asOf.time} />}>
      <Table
        label="Sites"
        rows={totals.items.toSorted((one, other) => other.conversions - one.conversions)}
        rowKey={({ site }) => site}
        columns={[
          {
            title: 'Site',
            cell: ({ site }) => <a href={withQuery(pathOf(site, 'overview'), { days })}>{site}</a>,
          },
          { title: 'Conversions', kind: 'number', cell: ({ conversions }) => conversions },
          {
            title: 'Value',
            kind: 'number',
            cell: ({ values }) => {
              const sorted = values.toSorted((one, other) => other.conversions - one.conversions);
              return <span title={exactValues(sorted)}>{valuesText(sorted)}</span>;
            },
          },
          {
            title: 'Matched',
            kind: 'number',
            cell: ({ matchRate }) => (matchRate === null ? '–' : formatShare(matchRate)),
          },
          { title: 'Bot traffic removed', kind: 'number', isMinor: true, cell: (row) => row.botTrafficRemoved },
          { title: 'Duplicates', kind: 'number', isMinor: true, cell: (row) => row.duplicates },
          { title: 'Refused', kind: 'number', isMinor: true, cell: (row) => row.refused },
          { title: 'Missing or wrong keys', kind: 'number', isMinor: true, cell: (row) => row.authenticationFailures },
        ]}
      />
    </Panel>
  );
}

interface Row {
  readonly cell: Schemas['Cell'];
  readonly host: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Site', cell: ({ cell, host }) => <a href={cell.url + pathOf(host, 'overview')}>{host}</a> },
  { title: 'Cell', cell: ({ cell }) => cell.name },
];

/** The sites of other cells, which are changed on the dashboards there. Loaded apart: a cell that is away must not hold the page up. */
function OtherCells() {
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
