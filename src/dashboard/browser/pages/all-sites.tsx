import { useLocation } from 'preact-iso';
import { api, dataOf, type Schemas } from '../api.js';
import { Attention } from '../components/attention.js';
import { Figures } from '../components/figures.js';
import { PeriodChoice } from '../components/forms/period-choice.js';
import { OtherCells } from '../components/other-cells.js';
import { OverTime } from '../components/over-time.js';
import { Page, Panel } from '../components/panel.js';
import { PlatformsOfAllSites } from '../components/platforms.js';
import { SOURCES_SHOWN } from '../components/sources.js';
import { Loading, ProblemNote, Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { AsOf } from '../components/time.js';
import { formatNumber, formatShare, zoneName } from '../format.js';
import { areSettled, useData } from '../hooks/use-data.js';
import { type ChosenPeriod, usePeriod } from '../hooks/use-period.js';
import { pathOf, withQuery } from '../navigation.js';
import { mayOperateAll, useSession } from '../session.js';
import { exactValues, groupingOf, sumTotals, valuesText } from '../views/overview-view.js';

/** What needs attention anywhere, the figures of all sites together, and those of each. */
export function AllSites() {
  const { user } = useSession();
  const period = usePeriod();
  const { attention, figures, sources } = useAllSites(period);
  const isShown = areSettled(attention, figures);
  return (
    <Page
      title="All sites"
      note={figures.data && <AsOf time={figures.data.totals.asOf.time} />}
      actions={
        <>
          <PeriodChoice period={period} />
          {mayOperateAll(user) && (
            <a class="button" href="/sites/new">
              Add a site
            </a>
          )}
        </>
      }
    >
      {!isShown && <Loading />}
      {isShown && (
        <>
          <ProblemNote problem={attention.problem} retry={attention.reload} />
          {attention.data && <Attention items={attention.data.items} withSite onChanged={period.refresh} />}
          <Show of={figures}>
            {({ totals, before, series }) => (
              <>
                <Figures totals={sumTotals(totals.items)} before={sumTotals(before.items)} days={period.days} />
                <OverTime series={series} period={period.now} sources={sources} />
                <Sites totals={totals} period={period} />
                <OtherCells />
                <PlatformsOfAllSites series={series} />
              </>
            )}
          </Show>
        </>
      )}
    </Page>
  );
}

function useAllSites({ days, now, before, openedMs }: ChosenPeriod) {
  const { query } = useLocation();
  const by = groupingOf(query['by']);
  const { interval, ...span } = now;
  const { interval: _, ...earlier } = before;
  const attention = useData('attention', () => dataOf(api.GET('/api/v1/attention')), openedMs);
  const figures = useData(
    `figures of all sites ${days}`,
    async () => {
      const [totals, before, series] = await Promise.all([
        dataOf(api.GET('/api/v1/totals', { params: { query: span } })),
        dataOf(api.GET('/api/v1/totals', { params: { query: earlier } })),
        dataOf(api.GET('/api/v1/series', { params: { query: { ...span, interval, timeZone: zoneName() } } })),
      ]);
      return { totals, before, series };
    },
    openedMs,
  );
  const sources = useData(
    `sources of all sites ${by} ${days}`,
    () => dataOf(api.GET('/api/v1/sources', { params: { query: { ...span, by, limit: SOURCES_SHOWN } } })),
    openedMs,
  );
  return { attention, figures, sources };
}

function Sites({ totals, period }: { totals: Schemas['AllTotals']; period: ChosenPeriod }) {
  const rows = totals.items.toSorted((one, other) => other.conversions - one.conversions);
  return (
    <Panel title="Sites" note={<AsOf time={totals.asOf.time} />}>
      <Table
        label="Sites"
        rows={rows}
        rowKey={({ site }) => site}
        columns={[
          {
            title: 'Site',
            cell: ({ site }) => <a href={withQuery(pathOf(site, 'overview'), { days: String(period.days) })}>{site}</a>,
          },
          { title: 'Conversions', isNumber: true, cell: ({ conversions }) => formatNumber(conversions) },
          {
            title: 'Value',
            isNumber: true,
            cell: ({ values }) => {
              const sorted = values.toSorted((one, other) => other.conversions - one.conversions);
              return <span title={exactValues(sorted)}>{valuesText(sorted)}</span>;
            },
          },
          {
            title: 'Matched',
            isNumber: true,
            cell: ({ matchRate }) => (matchRate === null ? '–' : formatShare(matchRate)),
          },
          {
            title: 'Bot traffic removed',
            isNumber: true,
            isMinor: true,
            cell: ({ botTrafficRemoved }) => formatNumber(botTrafficRemoved),
          },
          {
            title: 'Duplicates',
            isNumber: true,
            isMinor: true,
            cell: ({ duplicates }) => formatNumber(duplicates),
          },
          { title: 'Refused', isNumber: true, isMinor: true, cell: ({ refused }) => formatNumber(refused) },
          {
            title: 'Missing or wrong keys',
            isNumber: true,
            isMinor: true,
            cell: ({ authenticationFailures }) => formatNumber(authenticationFailures),
          },
        ]}
      />
    </Panel>
  );
}
