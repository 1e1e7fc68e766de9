import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, clock, type Schemas } from '../api.js';
import { Arrived } from '../components/arrived.js';
import { Badge, Button, StatusBadge, Time } from '../components/basics.js';
import { Empty, LoadProblem, Page, Panel } from '../components/frame.js';
import { OutcomeLegend } from '../components/outcome-legend.js';
import { SyncLogFilterBar } from '../components/sync-log-filter-bar.js';
import { type Column, PagedTable } from '../components/table.js';
import { attempt } from '../components/toasts.js';
import { connectionTitle, counted, formatDuration } from '../format.js';
import { useAction, useGet } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { useLiveList } from '../hooks/use-live-list.js';
import { usePages } from '../hooks/use-pages.js';
import { conversionPath, pathOf } from '../navigation.js';
import { PAGE_ROWS } from '../page-window.js';
import { type Site, useSession } from '../session.js';
import { ADDING, CHANGING_ROWS, changedLine, mayMatchAttempt } from '../stream/live-rows.js';
import { hasFilters, matchText, readFilters, withFilter } from '../sync-log-filters.js';
import { withTimes } from '../time-filter.js';
import { connectedNames } from '../views/connection-view.js';
import { nextStep, reasonText } from '../views/reason-view.js';
import { retrySelections, retryStatuses } from '../views/retry-view.js';
import { RetryDialog } from './retry-dialog.js';

type SyncLine = Schemas['SyncLine'];

/** Attempts to deliver conversions and to push totals, newest first. The filters are part of the address. */
export function SyncLog({ site }: { site: Site }) {
  const { path, query, route } = useLocation();
  const { isWriter } = useSession();
  const filters = readFilters(query);
  const [openedMs, setOpenedMs] = useState(() => clock.nowMs());
  const dialog = useDialog(isWriter);
  const exporting = useAction();
  const columns = useMemo(() => columnsOf(site.host), [site.host]);
  const of = { site: site.host };
  const load = (cursor: number | undefined, limit: number) =>
    api.GET('/api/v1/sites/{site}/sync-log', { path: of, query: { ...withTimes(filters, openedMs), limit, cursor } });
  const pages = usePages<SyncLine>(
    `${site.host} ${withFilter('', filters, {})}`,
    (cursor) => load(cursor, PAGE_ROWS),
    site.host,
  );
  const refresh = () => {
    setOpenedMs(clock.nowMs());
    pages.reload();
  };
  const listed = new Set(pages.items?.map(({ conversionId }) => conversionId));
  const arrived = useLiveList({
    site: site.host,
    pages,
    adding: ADDING.syncLog,
    mayMatch: (event) => mayMatchAttempt(event, filters, (id) => listed.has(id)),
    changing: CHANGING_ROWS.syncLog,
    changed: changedLine,
    refresh,
  });
  const connections = useGet('/api/v1/sites/{site}/connections', { path: of });
  const connected = connectedNames(connections.data?.items);
  const exportLines = () =>
    exporting.run(() =>
      attempt(async () => {
        // Few visits of the page need it.
        const { exportedText, readLines, saveFile, syncLogCsv } = await import('../sync-log-export.js');
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
          <Button label="Refresh" isDisabled={pages.isLoading} onClick={refresh} />
          <Button
            label={exporting.isBusy ? 'Exporting …' : 'Export CSV'}
            isDisabled={exporting.isBusy || isNothing}
            onClick={exportLines}
          />
          {isWriter && statuses && (
            <Button
              kind="primary"
              label="Retry …"
              isDisabled={isNothing || !selections}
              onClick={() => dialog.open('retry')}
            />
          )}
        </>
      }
    >
      <LoadProblem problem={connections.problem} retry={connections.reload} />
      <Panel title="Attempts" note={count && <span role="status">{count}</span>}>
        <SyncLogFilterBar
          connected={connected}
          lines={items ?? []}
          filters={filters}
          onChange={(change) => route(withFilter(path, filters, change))}
        />
        <Arrived count={arrived} of="attempts" onShow={refresh} />
        <PagedTable
          label="Attempts"
          pages={pages}
          advice="choose a shorter time"
          empty={<NoLines site={site.host} isFiltered={hasFilters(filters)} path={path} />}
          rowKey={({ position }) => position}
          columns={columns}
        />
        <OutcomeLegend />
      </Panel>
      {dialog.opened === 'retry' && statuses && selections && (
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

function columnsOf(site: string): Column<SyncLine>[] {
  return [
    { title: 'Time', kind: 'code', cell: ({ time }) => <Time time={time} /> },
    { title: 'Order', kind: 'code', cell: (line) => <Subject site={site} line={line} /> },
    { title: 'Event', isMinor: true, cell: ({ event, kind }) => event ?? <span class="dim">{NAMES[kind]}</span> },
    {
      title: 'Platform',
      cell: ({ kind, platform }) => (kind === 'push' ? 'Webhook' : connectionTitle(platform ?? '')),
    },
    { title: 'Outcome', cell: ({ status, reason }) => <StatusBadge status={status} reason={reason} /> },
    { title: 'Reason', kind: 'text', cell: Reason },
    { title: 'Attempt', kind: 'number', isMinor: true, cell: ({ attempt }) => (attempt === 0 ? '' : attempt) },
    {
      title: 'Duration',
      kind: 'number',
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

function Reason(line: SyncLine) {
  const { reason, fix, platform, status, httpStatus, nextTry, resolved, count, reasons, payload } = line;
  if (reasons)
    return (
      <span class="dim">
        {counted(count ?? 0, 'request')}: {Object.keys(reasons).join(', ')}
      </span>
    );
  return (
    <span class="dim">
      {(reason && reasonText(reason, platform)) ??
        (payload ? counted(payload.conversions, 'conversion') : httpStatus === undefined ? '' : `HTTP ${httpStatus}`)}
      {fix !== undefined && !resolved && ` · ${fix}`}
      {resolved && (
        <>
          {' · '}
          <Badge tone="ok">resolved by a later attempt</Badge> <Time time={resolved.time} as="age" />
        </>
      )}
      {!resolved && nextTry !== undefined && ` · ${nextStep(status)} `}
      {!resolved && nextTry !== undefined && <Time time={nextTry} />}
    </span>
  );
}
