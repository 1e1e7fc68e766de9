import { useMemo } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf, type Schemas } from '../api.js';
import { StatusBadge } from '../components/badge.js';
import { Paged } from '../components/paged.js';
import { Page } from '../components/panel.js';
import { Empty } from '../components/states.js';
import { type Column, Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { connectionTitle, counted, formatDuration } from '../format.js';
import { conversionPath } from '../navigation.js';
import { PAGE_ROWS } from '../page-window.js';
import type { Site } from '../session.js';
import { readFilters, STATUSES, type SyncLogFilters, withFilter } from '../sync-log-filters.js';
import { useData } from '../use-data.js';
import { usePages } from '../use-pages.js';

type SyncLine = Schemas['SyncLine'];

/** Attempts to deliver conversions and to push totals, newest first. The filters are part of the address. */
export function SyncLog({ site }: { site: Site }) {
  const { path, query, url } = useLocation();
  const filters = readFilters(query);
  const pages = usePages<SyncLine>(url, (cursor) =>
    dataOf(
      api.GET('/api/v1/sites/{site}/sync-log', {
        params: {
          path: { site: site.host },
          query: {
            limit: PAGE_ROWS,
            ...(filters.platform && { connection: filters.platform }),
            ...(filters.status && { status: filters.status }),
            ...(cursor !== undefined && { cursor }),
          },
        },
      }),
    ),
  );
  return (
    <Page
      title="Sync log"
      note={`What was sent for ${site.host}, and what came back`}
      actions={
        <button type="button" onClick={pages.reload} disabled={pages.isLoading}>
          Refresh
        </button>
      }
    >
      <section class="panel">
        <Filters site={site.host} path={path} filters={filters} />
        <Paged pages={pages} empty={<NoLines filters={filters} />}>
          {(items) => <Lines site={site.host} lines={items} />}
        </Paged>
      </section>
    </Page>
  );
}

function Filters({ site, path, filters }: { site: string; path: string; filters: SyncLogFilters }) {
  const { route } = useLocation();
  const params = { path: { site } };
  const { data } = useData(`connections ${site}`, () =>
    dataOf(api.GET('/api/v1/sites/{site}/connections', { params })),
  );
  const connected = data?.items.filter((item) => item.connected).map(({ platform }) => platform) ?? [];
  // A platform in the address stays selectable, also after it was disconnected.
  const names = [...new Set([...connected, ...(filters.platform ? [filters.platform] : [])])];
  return (
    <div class="filters">
      <select
        aria-label="Platform"
        value={filters.platform ?? ''}
        onChange={(event) => route(withFilter(path, filters, { platform: event.currentTarget.value }))}
      >
        <option value="">All platforms</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {connectionTitle(name)}
          </option>
        ))}
      </select>
      <select
        aria-label="Outcome"
        value={filters.status ?? ''}
        onChange={(event) =>
          route(withFilter(path, filters, { status: event.currentTarget.value as (typeof STATUSES)[number] | '' }))
        }
      >
        <option value="">All outcomes</option>
        {STATUSES.map((status) => (
          <option key={status} value={status}>
            {status}
          </option>
        ))}
      </select>
      {(filters.platform || filters.status) && <a href={path}>Remove the filters</a>}
    </div>
  );
}

function NoLines({ filters }: { filters: SyncLogFilters }) {
  if (filters.platform || filters.status) return <Empty title="Nothing matches">Remove a filter to see more.</Empty>;
  return <Empty title="Nothing was sent yet">Attempts appear here as soon as the first conversion is delivered.</Empty>;
}

function Lines({ site, lines }: { site: string; lines: readonly SyncLine[] }) {
  const columns = useMemo(() => columnsOf(site), [site]);
  return <Table label="Attempts" rows={lines} rowKey={({ position }) => position} columns={columns} />;
}

function columnsOf(site: string): Column<SyncLine>[] {
  return [
    { title: 'Time', cell: ({ time }) => <Time time={time} /> },
    { title: 'What', cell: What },
    { title: 'Outcome', cell: ({ status }) => <StatusBadge status={status} /> },
    { title: 'Reason', isText: true, cell: Reason },
    {
      title: 'Conversion',
      isMinor: true,
      cell: ({ conversionId }) =>
        conversionId !== undefined && (
          <a href={conversionPath(site, conversionId)}>
            <code>{conversionId.slice(-12)}</code>
          </a>
        ),
    },
    { title: 'Attempt', isNumber: true, isMinor: true, cell: ({ attempt }) => (attempt === 0 ? '' : attempt) },
    {
      title: 'Duration',
      isNumber: true,
      isMinor: true,
      cell: ({ durationMs }) => (durationMs === 0 ? '' : formatDuration(durationMs)),
    },
  ];
}

function What({ kind, platform }: SyncLine) {
  if (kind === 'push') return <>Push of totals</>;
  return <>{kind === 'inbound' ? 'Refused conversions' : connectionTitle(platform ?? '')}</>;
}

function Reason({ reason, httpStatus, nextTry, count, reasons, payload }: SyncLine) {
  if (reasons)
    return (
      <>
        {counted(count ?? 0, 'request')}: {Object.keys(reasons).join(', ')}
      </>
    );
  return (
    <>
      {reason ??
        (payload ? counted(payload.conversions, 'conversion') : httpStatus === undefined ? '' : `HTTP ${httpStatus}`)}
      {nextTry !== undefined && (
        <span class="dim">
          {' '}
          · next <Time time={nextTry} />
        </span>
      )}
    </>
  );
}
