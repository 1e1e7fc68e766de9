import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, clock } from '../api.js';
import { Arrived } from '../components/arrived.js';
import { Button, Time } from '../components/basics.js';
import { ConversionFilterBar } from '../components/conversion-filter-bar.js';
import { ConversionOutcome } from '../components/conversion-outcome.js';
import { Empty, LoadProblem, Page, Panel } from '../components/frame.js';
import { OutcomeLegend } from '../components/outcome-legend.js';
import { type Column, PagedTable } from '../components/table.js';
import { attempt } from '../components/toasts.js';
import { amountOf } from '../conversion-story.js';
import { useAction, useGet } from '../hooks/use-data.js';
import { useLiveList } from '../hooks/use-live-list.js';
import { usePages } from '../hooks/use-pages.js';
import { conversionPath, pathOf, withQuery } from '../navigation.js';
import { PAGE_ROWS } from '../page-window.js';
import { type Site, useSession } from '../session.js';
import { ADDING, CHANGING_ROWS, changedConversion } from '../stream/live-rows.js';
import { hasFilters, matchText } from '../sync-log-filters.js';
import { withTimes } from '../time-filter.js';
import { connectedNames } from '../views/connection-view.js';
import { type Conversion, mayMatch, readConversionFilters, sourceOf } from '../views/conversions-view.js';

/** The conversions of a site, newest first, with what became of them. The filters are part of the address. */
export function Conversions({ site: { host } }: { site: Site }) {
  const { path, query, route } = useLocation();
  const { isWriter } = useSession();
  const filters = readConversionFilters(query);
  const [openedMs, setOpenedMs] = useState(() => clock.nowMs());
  const exporting = useAction();
  const of = { site: host };
  const search = withTimes(filters, openedMs);
  const pages = usePages<Conversion>(
    `conversions ${host} ${JSON.stringify(filters)}`,
    (cursor) =>
      api.GET('/api/v1/sites/{site}/conversions', { path: of, query: { ...search, limit: PAGE_ROWS, cursor } }),
    host,
  );
  const refresh = () => {
    setOpenedMs(clock.nowMs());
    pages.reload();
  };
  const arrived = useLiveList({
    site: host,
    pages,
    adding: ADDING.conversions,
    mayMatch: (event) => mayMatch(event, filters),
    changing: CHANGING_ROWS.conversions,
    changed: changedConversion,
    refresh,
  });
  const connections = useGet('/api/v1/sites/{site}/connections', { path: of });
  const columns = useMemo(() => columnsOf(host), [host]);
  const startExport = () =>
    exporting.run(() =>
      attempt(async () => {
        const body = { kind: 'export', table: 'conversions', format: 'csv', ...search } as const;
        await api.POST('/api/v1/sites/{site}/jobs', { path: of, body });
        route(pathOf(host, 'history'));
        return 'The export has started. It can be downloaded here when it is finished.';
      }),
    );
  const { items } = pages;
  const found =
    items &&
    !pages.isStale &&
    matchText(pages.dropped + items.length, pages.hasMore, hasFilters(filters), 'conversion');
  return (
    <Page
      title="Conversions"
      note={`What the systems of ${host} reported, and what became of it`}
      actions={
        <>
          <Button label="Refresh" isDisabled={pages.isLoading} onClick={refresh} />
          {isWriter && (
            <Button
              label={exporting.isBusy ? 'Starting …' : 'Export CSV'}
              isDisabled={exporting.isBusy || (!items?.length && !pages.hasMore)}
              onClick={startExport}
            />
          )}
        </>
      }
    >
      <LoadProblem problem={connections.problem} retry={connections.reload} />
      <Panel title="Received" note={found && <span role="status">{found}</span>}>
        <ConversionFilterBar
          connected={connectedNames(connections.data?.items)}
          conversions={items ?? []}
          filters={filters}
          onChange={(change) => route(withQuery(path, { ...filters, ...change }))}
        />
        <Arrived count={arrived} of="conversions" onShow={refresh} />
        <PagedTable
          label="Conversions"
          pages={pages}
          advice="choose a shorter time"
          empty={<NoConversions site={host} isFiltered={hasFilters(filters)} />}
          rowKey={({ position }) => position}
          columns={columns}
        />
        <OutcomeLegend />
      </Panel>
    </Page>
  );
}

function columnsOf(site: string): Column<Conversion>[] {
  return [
    { title: 'Time', cell: ({ time }) => <Time time={time} /> },
    {
      title: 'Order',
      kind: 'code',
      cell: ({ orderId, conversionId }) => (
        <a href={conversionPath(site, conversionId)}>{orderId ?? conversionId.slice(-12)}</a>
      ),
    },
    { title: 'Outcome', kind: 'text', cell: (conversion) => <ConversionOutcome {...conversion} /> },
    { title: 'Value', kind: 'number', cell: (conversion) => amountOf(conversion) },
    { title: 'Event', isMinor: true, cell: ({ event }) => event },
    { title: 'Source', isMinor: true, cell: (conversion) => sourceOf(conversion)?.replaceAll('_', ' ') },
    {
      title: 'Matched',
      isMinor: true,
      cell: ({ matched }) => (matched ? 'to a visit' : <span class="dim">no</span>),
    },
  ];
}

function NoConversions({ site, isFiltered }: { site: string; isFiltered: boolean }) {
  if (isFiltered) return <Empty title="Nothing matches">Order ids are compared exactly as they were sent.</Empty>;
  return (
    <Empty title="No conversion yet">
      Create a key and send one: <a href={pathOf(site, 'keys')}>Inbound keys</a>
    </Empty>
  );
}
