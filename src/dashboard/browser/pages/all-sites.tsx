import { useState } from 'preact/hooks';
import { api, dataOf } from '../api.js';
import { Attention } from '../components/attention.js';
import { Page, Panel } from '../components/panel.js';
import { Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { formatMoneyShort, formatNumber, formatShare } from '../format.js';
import { pathOf } from '../navigation.js';
import { periodsOf } from '../overview-view.js';
import { useData } from '../use-data.js';

/** What needs attention anywhere, and the figures of each site in the last seven days. */
export function AllSites() {
  const [openedMs] = useState(Date.now);
  const loaded = useData('all sites', async () => {
    const { from, to } = periodsOf('7', openedMs).now;
    const [attention, totals] = await Promise.all([
      dataOf(api.GET('/api/v1/attention')),
      dataOf(api.GET('/api/v1/totals', { params: { query: { from, to } } })),
    ]);
    return { attention, totals };
  });
  return (
    <Page title="All sites" note="The last 7 days">
      <Show of={loaded}>
        {({ attention, totals }) => (
          <>
            <Attention items={attention.items} withSite />
            <Panel
              title="Sites"
              note={
                <>
                  as of <Time time={totals.asOf.time} />
                </>
              }
              actions={
                <a class="button" href="/sites/new">
                  Add a site
                </a>
              }
            >
              <Table
                label="Sites"
                rows={totals.items}
                rowKey={({ site }) => site}
                columns={[
                  { title: 'Site', cell: ({ site }) => <a href={pathOf(site, 'overview')}>{site}</a> },
                  { title: 'Conversions', isNumber: true, cell: ({ conversions }) => formatNumber(conversions) },
                  {
                    title: 'Value',
                    isNumber: true,
                    cell: ({ values }) =>
                      values.map(({ value, currency }) => formatMoneyShort(value, currency)).join(' + '),
                  },
                  {
                    title: 'Matched',
                    isNumber: true,
                    cell: ({ matchRate }) => (matchRate === null ? '–' : formatShare(matchRate)),
                  },
                  {
                    title: 'Bots removed',
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
                  {
                    title: 'Wrong keys',
                    isNumber: true,
                    isMinor: true,
                    cell: ({ authenticationFailures }) => formatNumber(authenticationFailures),
                  },
                ]}
              />
            </Panel>
          </>
        )}
      </Show>
    </Page>
  );
}
