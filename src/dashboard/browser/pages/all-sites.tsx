import { useLocation } from 'preact-iso';
import { api, dataOf, type Schemas } from '../api.js';
import { Attention } from '../components/attention.js';
import { Chart } from '../components/chart.js';
import { Figures } from '../components/figures.js';
import { Page, Panel } from '../components/panel.js';
import { PeriodChoice } from '../components/period-choice.js';
import { Sources } from '../components/sources.js';
import { Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { AsOf } from '../components/time.js';
import { formatNumber, formatShare, zoneName } from '../format.js';
import { pathOf, withQuery } from '../navigation.js';
import { groupingOf, intervalTitle, sumTotals, valuesText } from '../overview-view.js';
import { mayWrite, useSession } from '../session.js';
import { useData } from '../use-data.js';
import { type ChosenPeriod, usePeriod } from '../use-period.js';

const SOURCES_SHOWN = 6;

/** What needs attention anywhere, the figures of all sites together, and those of each. */
export function AllSites() {
  const { path, query } = useLocation();
  const { user } = useSession();
  const period = usePeriod();
  const by = groupingOf(query['by']);
  const loaded = useData(`all sites ${period.key}`, async () => {
    const { interval, ...span } = period.now;
    const { interval: _, ...earlier } = period.before;
    const [attention, totals, before, series] = await Promise.all([
      dataOf(api.GET('/api/v1/attention')),
      dataOf(api.GET('/api/v1/totals', { params: { query: span } })),
      dataOf(api.GET('/api/v1/totals', { params: { query: earlier } })),
      dataOf(api.GET('/api/v1/series', { params: { query: { ...span, interval, timeZone: zoneName() } } })),
    ]);
    return { attention, totals, before, series };
  });
  const sources = useData(`sources of all sites ${by} ${period.key}`, () => {
    const { from, to } = period.now;
    return dataOf(api.GET('/api/v1/sources', { params: { query: { from, to, by, limit: SOURCES_SHOWN } } }));
  });
  return (
    <Page
      title="All sites"
      note={loaded.data && <AsOf time={loaded.data.totals.asOf.time} />}
      actions={
        <>
          <PeriodChoice period={period} />
          {mayWrite(user) && (
            <a class="button" href="/sites/new">
              Add a site
            </a>
          )}
        </>
      }
    >
      <Show of={loaded}>
        {({ attention, totals, before, series }) => (
          <>
            <Attention items={attention.items} withSite onChanged={period.refresh} />
            <Figures totals={sumTotals(totals.items)} before={sumTotals(before.items)} days={period.days} />
            <div class="two">
              <Panel title="Conversions" note={intervalTitle(period.now, zoneName())}>
                <Chart series={series} />
              </Panel>
              <Show of={sources}>
                {(data) => (
                  <Sources
                    sources={data}
                    by={by}
                    pathOfGrouping={(other) => withQuery(path, { ...query, by: other })}
                  />
                )}
              </Show>
            </div>
            <Sites totals={totals} period={period} />
          </>
        )}
      </Show>
    </Page>
  );
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
            cell: ({ values }) => valuesText(values.toSorted((one, other) => other.conversions - one.conversions)),
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
