import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, clock, dataOf, type Schemas } from '../api.js';
import { StatusBadge } from '../components/badge.js';
import { Paged } from '../components/paged.js';
import { Page, Panel } from '../components/panel.js';
import { Empty, ProblemNote } from '../components/states.js';
import { SyncLogFilterBar } from '../components/sync-log-filter-bar.js';
import { type Column, Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { attempt } from '../components/toasts.js';
import { connectionTitle, counted, formatDuration } from '../format.js';
import { useAction, useData } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { usePages } from '../hooks/use-pages.js';
import { conversionPath, pathOf } from '../navigation.js';
import { PAGE_ROWS } from '../page-window.js';
import { saveFile } from '../save-file.js';
import { mayWrite, type Site, useSession } from '../session.js';
import { exportedText, readLines, syncLogCsv } from '../sync-log-export.js';
import { hasFilters, matchText, queryOf, readFilters, withFilter } from '../sync-log-filters.js';
import { reasonText } from '../views/reason-view.js';
import { retrySelections, retryStatuses } from '../views/retry-view.js';
import { RetryDialog } from './retry-dialog.js';

type SyncLine = Schemas['SyncLine'];

/** Attempts to deliver conversions and to push totals, newest first. The filters are part of the address. */
export function SyncLog({ site }: { site: Site }) {
  const { path, query, route } = useLocation();
  const { user } = useSession();
  const filters = readFilters(query);
  const [openedMs, setOpenedMs] = useState(() => clock.nowMs());
  const dialog = useDialog();
  const exporting = useAction();
  const params = { path: { site: site.host } };
  const load = (cursor: number | undefined, limit: number) =>
    dataOf(
      api.GET('/api/v1/sites/{site}/sync-log', {
        params: { ...params, query: { ...queryOf(filters, openedMs), limit, ...(cursor !== undefined && { cursor }) } },
      }),
    );
  const pages = usePages<SyncLine>(
    `${site.host} ${withFilter('', filters, {})}`,
    (cursor) => load(cursor, PAGE_ROWS),
    site.host,
  );
  const refresh = () => {
    setOpenedMs(clock.nowMs());
    pages.reload();
  };
  const connections = useData(`connections ${site.host}`, () =>
    dataOf(api.GET('/api/v1/sites/{site}/connections', { params })),
  );
  const connected = connections.data?.items.filter((item) => item.connected).map(({ platform }) => platform) ?? [];
  const exportLines = () =>
    exporting.run(() =>
      attempt(async () => {
        const exported = await readLines(load);
        saveFile(`sync-log-${site.host}.csv`, 'text/csv', syncLogCsv(exported.lines));
        return exportedText(exported);
      }),
    );
  const statuses =
    filters.kind === undefined || filters.kind === 'delivery' ? retryStatuses(filters.status) : undefined;
  const selections = connections.data && retrySelections(filters, connected);
  const { items } = pages;
  // Both look further than the list does.
  const isNothing = !items?.length && !pages.hasMore;
  const count = items && !pages.isStale && matchText(pages.dropped + items.length, pages.hasMore, hasFilters(filters));
  return (
    <Page
      title="Sync log"
      note={`What was sent for ${site.host}, and what came back`}
      actions={
        <>
          <button type="button" onClick={refresh} disabled={pages.isLoading}>
            Refresh
          </button>
          <button type="button" onClick={() => void exportLines()} disabled={exporting.isBusy || isNothing}>
            {exporting.isBusy ? 'Exporting …' : 'Export CSV'}
          </button>
          {mayWrite(user) && statuses && (
            <button
              type="button"
              class="primary"
              disabled={isNothing || !selections}
              onClick={() => dialog.open('retry')}
            >
              Retry …
            </button>
          )}
        </>
      }
    >
      <ProblemNote problem={connections.problem} retry={connections.reload} />
      <Panel title="Attempts" note={count && <span role="status">{count}</span>}>
        <SyncLogFilterBar
          connected={connected}
          lines={items ?? []}
          filters={filters}
          onChange={(change) => route(withFilter(path, filters, change))}
        />
        <Paged
          pages={pages}
          advice="choose a shorter time"
          empty={<NoLines site={site.host} isFiltered={hasFilters(filters)} path={path} />}
        >
          {(lines) => <Lines site={site.host} lines={lines} />}
        </Paged>
      </Panel>
      {dialog.opened === 'retry' && mayWrite(user) && statuses && selections && (
        <RetryDialog
          site={site.host}
          filters={filters}
          statuses={statuses}
          selections={selections}
          onSent={refresh}
          onClose={dialog.close}
        />
      )}
    </Page>
  );
}

function NoLines({ site, isFiltered, path }: { site: string; isFiltered: boolean; path: string }) {
  if (isFiltered)
    return (
      <Empty title="Nothing matches">
        Change a filter, or <a href={path}>remove all filters</a>.
      </Empty>
    );
  return (
    <Empty title="Nothing was sent yet">
      Attempts appear here as soon as the first conversion is delivered.{' '}
      <a href={pathOf(site, 'first-steps')}>First steps</a>
    </Empty>
  );
}

function Lines({ site, lines }: { site: string; lines: readonly SyncLine[] }) {
  const columns = useMemo(() => columnsOf(site), [site]);
  return <Table label="Attempts" rows={lines} rowKey={({ position }) => position} columns={columns} />;
}

function columnsOf(site: string): Column<SyncLine>[] {
  return [
    { title: 'Time', isCode: true, cell: ({ time }) => <Time time={time} /> },
    { title: 'Order', isCode: true, cell: (line) => <Subject site={site} line={line} /> },
    { title: 'Event', isMinor: true, cell: ({ event, kind }) => event ?? <span class="dim">{NAMES[kind]}</span> },
    {
      title: 'Platform',
      cell: ({ kind, platform }) => (kind === 'push' ? 'Webhook' : connectionTitle(platform ?? '')),
    },
    { title: 'Outcome', cell: ({ status }) => <StatusBadge status={status} /> },
    { title: 'Reason', isText: true, cell: Reason },
    { title: 'Attempt', isNumber: true, isMinor: true, cell: ({ attempt }) => (attempt === 0 ? '' : attempt) },
    {
      title: 'Duration',
      isNumber: true,
      isMinor: true,
      cell: ({ durationMs }) => (durationMs === 0 ? '' : formatDuration(durationMs)),
    },
  ];
}

const NAMES: Readonly<Record<SyncLine['kind'], string>> = { delivery: '', push: 'push', inbound: 'inbound' };

/** The order of a delivery, which leads to its conversion; what else the line is about. */
function Subject({ site, line: { conversionId, orderId, kind } }: { site: string; line: SyncLine }) {
  if (conversionId === undefined) return <>{kind === 'push' ? 'Totals' : 'Refused conversions'}</>;
  return <a href={conversionPath(site, conversionId)}>{orderId ?? <code>{conversionId.slice(-12)}</code>}</a>;
}

function Reason({ reason, httpStatus, nextTry, count, reasons, payload }: SyncLine) {
  if (reasons)
    return (
      <span class="dim">
        {counted(count ?? 0, 'request')}: {Object.keys(reasons).join(', ')}
      </span>
    );
  return (
    <span class="dim">
      {(reason && reasonText(reason)) ??
        (payload ? counted(payload.conversions, 'conversion') : httpStatus === undefined ? '' : `HTTP ${httpStatus}`)}
      {nextTry !== undefined && (
        <>
          {' '}
          · next <Time time={nextTry} />
        </>
      )}
    </span>
  );
}
