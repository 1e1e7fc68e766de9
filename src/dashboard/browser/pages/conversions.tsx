import { useEffect, useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Schemas } from '../api.js';
import { StatusBadge, Time } from '../components/basics.js';
import { Choice } from '../components/forms/fields.js';
import { Empty, Page, Panel } from '../components/frame.js';
import { OutcomeLegend } from '../components/outcome-legend.js';
import { type Column, PagedTable } from '../components/table.js';
import { amountOf } from '../conversion-story.js';
import { useList } from '../hooks/use-pages.js';
import { conversionPath, pathOf, withQuery } from '../navigation.js';
import { PAGE_ROWS } from '../page-window.js';
import type { Site } from '../session.js';

const STATUSES = ['received', 'deduplicated', 'filtered'] as const;

/** The conversions of a site, newest first, or those with an order id. The filters are part of the address. */
export function Conversions({ site: { host } }: { site: Site }) {
  const { path, query, route } = useLocation();
  const { order = '' } = query;
  const status = STATUSES.find((known) => known === query['status']);
  const pages = useList('/api/v1/sites/{site}/conversions', {
    path: { site: host },
    query: { limit: PAGE_ROWS, order: order || undefined, status },
  });
  const columns = useMemo(() => columnsOf(host), [host]);
  const show = (filters: { order: string; status: string }) => route(withQuery(path, filters));
  return (
    <Page title="Conversions" note={`What the systems of ${host} reported`}>
      <Panel>
        <div class="filters">
          <OrderSearch order={order} onFind={(found) => show({ order: found, status: status ?? '' })} />
          <Choice
            label="Status"
            value={status ?? ''}
            options={[['', 'All'], ...STATUSES.map((name) => [name, name] as const)]}
            onValue={(chosen) => show({ order, status: chosen })}
          />
          {(order || status) && <a href={path}>Remove the filters</a>}
        </div>
        <PagedTable
          label="Conversions"
          pages={pages}
          empty={<NoConversions site={host} isFiltered={Boolean(order || status)} />}
          rowKey={({ position }) => position}
          columns={columns}
        />
        <OutcomeLegend />
      </Panel>
    </Page>
  );
}

function columnsOf(site: string): Column<Schemas['Conversion']>[] {
  return [
    { title: 'Time', cell: ({ time }) => <Time time={time} /> },
    {
      title: 'Order',
      kind: 'code',
      cell: ({ orderId, conversionId }) => (
        <a href={conversionPath(site, conversionId)}>{orderId ?? conversionId.slice(-12)}</a>
      ),
    },
    { title: 'Event', isMinor: true, cell: ({ event }) => event },
    { title: 'Value', kind: 'number', cell: (conversion) => amountOf(conversion) },
    { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    {
      title: 'Matched',
      isMinor: true,
      cell: ({ matched }) => (matched ? 'to a visit' : <span class="dim">no</span>),
    },
    { title: 'Reason', kind: 'text', isMinor: true, cell: ({ reason }) => reason },
  ];
}

/** Takes over the order of the address, also after a step back or forward. */
function OrderSearch({ order, onFind }: { order: string; onFind: (order: string) => void }) {
  const [text, setText] = useState(order);
  useEffect(() => setText(order), [order]);
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onFind(text.trim());
        }}
      >
        <input
          aria-label="Order"
          type="search"
          placeholder="Order id"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit">Find</button>
      </form>
    </search>
  );
}

function NoConversions({ site, isFiltered }: { site: string; isFiltered: boolean }) {
  if (isFiltered) return <Empty title="Nothing matches">Order ids are compared exactly as they were sent.</Empty>;
  return (
    <Empty title="No conversion yet">
      Create a key and send one: <a href={pathOf(site, 'keys')}>Inbound keys</a>
    </Empty>
  );
}
