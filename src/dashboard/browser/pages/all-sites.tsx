import { api, type Schemas } from '../api.js';
import { AsOf } from '../components/basics.js';
import { Panel } from '../components/frame.js';
import { OtherCells } from '../components/other-cells.js';
import { PeriodPage } from '../components/period-page.js';
import { PlatformsOfAllSites } from '../components/platforms.js';
import { Table } from '../components/table.js';
import { formatShare } from '../format.js';
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
        attention: () => api.GET('/api/v1/attention'),
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
