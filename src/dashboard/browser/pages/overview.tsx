import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf, type Schemas } from '../api.js';
import { Attention } from '../components/attention.js';
import { Badge } from '../components/badge.js';
import { Chart } from '../components/chart.js';
import { Page, Panel } from '../components/panel.js';
import { HelpsMost, Sources } from '../components/sources.js';
import { Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { Tile } from '../components/tile.js';
import { Time } from '../components/time.js';
import { type Connection, connectionState } from '../connection-view.js';
import { connectionTitle, formatMoneyShort, formatNumber, formatShare } from '../format.js';
import { pathOf } from '../navigation.js';
import { changeOf, PERIODS, periodsOf, platformRows, pointsOf, type Series, type Totals } from '../overview-view.js';
import type { Site } from '../session.js';
import { useData } from '../use-data.js';
import { FirstStepsNote } from './first-steps-note.js';

interface Loaded {
  readonly attention: Schemas['Attention'];
  readonly totals: Totals;
  readonly before: Totals;
  readonly series: Series;
  readonly connections: readonly Connection[];
  readonly sources: Schemas['Sources'];
  readonly quality: Schemas['MatchQuality'];
}

/** What needs attention, the figures of a period with their comparison, one chart, and a row per platform. */
export function Overview({ site }: { site: Site }) {
  const { path, query, route } = useLocation();
  const [openedMs, setOpenedMs] = useState(Date.now);
  const { days, now, before } = periodsOf(query['days'], openedMs);
  const loaded = useData<Loaded>(`overview ${site.host} ${days} ${openedMs}`, async () => {
    const of = { site: site.host };
    const { interval, ...period } = now;
    const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const [attention, totals, earlier, series, connections, sources, quality] = await Promise.all([
      dataOf(api.GET('/api/v1/sites/{site}/attention', { params: { path: of } })),
      dataOf(api.GET('/api/v1/sites/{site}/totals', { params: { path: of, query: period } })),
      dataOf(
        api.GET('/api/v1/sites/{site}/totals', { params: { path: of, query: { from: before.from, to: before.to } } }),
      ),
      dataOf(
        api.GET('/api/v1/sites/{site}/series', { params: { path: of, query: { ...period, interval, timeZone } } }),
      ),
      dataOf(api.GET('/api/v1/sites/{site}/connections', { params: { path: of } })),
      dataOf(api.GET('/api/v1/sites/{site}/sources', { params: { path: of, query: { ...period, limit: 6 } } })),
      dataOf(api.GET('/api/v1/sites/{site}/match-quality', { params: { path: of, query: period } })),
    ]);
    return { attention, totals, before: earlier, series, connections: connections.items, sources, quality };
  });
  const { data } = loaded;
  return (
    <Page
      title="Overview"
      note={
        data && (
          <>
            {site.host}, as of <Time time={data.totals.asOf.time} />
          </>
        )
      }
      actions={
        <>
          <select
            aria-label="Period"
            value={String(days)}
            onChange={(event) => route(`${path}?days=${event.currentTarget.value}`)}
          >
            {PERIODS.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
          <button type="button" onClick={() => setOpenedMs(Date.now())}>
            Refresh
          </button>
        </>
      }
    >
      <Show of={loaded}>
        {({ attention, totals, before, series, connections, sources, quality }) => (
          <>
            <Attention items={attention.items} />
            <FirstStepsNote site={site} connections={connections} hasConversions={totals.conversions > 0} />
            <Figures totals={totals} before={before} days={days} />
            <div class="two">
              <Panel title="Conversions" note={days > 7 ? 'by the day' : 'by the hour'}>
                <Chart series={series} />
              </Panel>
              <Sources sources={sources} />
            </div>
            <Platforms site={site.host} series={series} connections={connections} quality={quality} />
          </>
        )}
      </Show>
    </Page>
  );
}

function Figures({ totals, before, days }: { totals: Totals; before: Totals; days: number }) {
  const [main, ...others] = totals.values.toSorted((one, other) => other.conversions - one.conversions);
  const earlier = before.values.find(({ currency }) => currency === main?.currency);
  return (
    <dl class="tiles">
      <Tile
        title="Conversions"
        value={formatNumber(totals.conversions)}
        change={changeOf(totals.conversions, before.conversions)}
        note={`${before.conversions === 0 ? 'none in' : 'vs.'} the ${days === 1 ? 'day' : `${days} days`} before`}
      />
      <Tile
        title="Value"
        value={main ? formatMoneyShort(main.value, main.currency) : '–'}
        change={main && changeOf(main.value, earlier?.value ?? 0)}
        note={others.map(({ value, currency }) => `+ ${formatMoneyShort(value, currency)}`).join(' ')}
      />
      <Tile
        title="Matched to a visit"
        value={totals.matchRate === null ? '–' : formatShare(totals.matchRate)}
        change={pointsOf(totals.matchRate, before.matchRate)}
      />
      <Tile
        title="Bots removed"
        value={formatNumber(totals.botTrafficRemoved)}
        note={`${formatNumber(totals.filtered)} of them conversions`}
      />
      <Tile
        title="Duplicates"
        value={formatNumber(totals.duplicates)}
        note={`${formatNumber(totals.changedDuplicates)} with a changed field`}
      />
      {(totals.authenticationFailures > 0 || totals.refused > 0) && (
        <Tile
          title="Refused requests"
          value={formatNumber(totals.refused + totals.authenticationFailures)}
          note={`${formatNumber(totals.authenticationFailures)} with a wrong key`}
        />
      )}
    </dl>
  );
}

interface PlatformsProps {
  site: string;
  series: Series;
  connections: readonly Connection[];
  quality: Schemas['MatchQuality'];
}

function Platforms({ site, series, connections, quality }: PlatformsProps) {
  const connected = connections.filter((connection) => connection.connected);
  const rows = platformRows(
    series,
    connected.map(({ platform }) => platform),
  );
  const stateOf = (platform: string) =>
    connectionState(connections.find((connection) => connection.platform === platform) ?? { connected: false });
  return (
    <Panel title="Platforms" actions={rows.length === 0 && <a href={pathOf(site, 'integrations')}>Connect one</a>}>
      {rows.length > 0 && (
        <Table
          label="Platforms"
          rows={rows}
          rowKey={({ platform }) => platform}
          columns={[
            {
              title: 'Platform',
              cell: ({ platform }) => (
                <a class="plain" href={`${pathOf(site, 'sync-log')}?platform=${platform}`}>
                  {connectionTitle(platform)}
                </a>
              ),
            },
            {
              title: 'State',
              cell: ({ platform }) => {
                const [tone, words] = stateOf(platform);
                return <Badge tone={tone}>{words}</Badge>;
              },
            },
            { title: 'Acceptance', cell: ({ acceptance }) => <Acceptance share={acceptance} /> },
            { title: 'Accepted', isNumber: true, cell: ({ accepted }) => formatNumber(accepted) },
            { title: 'Rejected', isNumber: true, isMinor: true, cell: ({ rejected }) => formatNumber(rejected) },
            { title: 'Failed', isNumber: true, cell: ({ failed }) => formatNumber(failed) },
            { title: 'Skipped', isNumber: true, isMinor: true, cell: ({ skipped }) => formatNumber(skipped) },
            {
              title: 'Would help most',
              isMinor: true,
              cell: ({ platform }) => <HelpsMost quality={quality.items.find((item) => item.platform === platform)} />,
            },
          ]}
        />
      )}
    </Panel>
  );
}

function Acceptance({ share }: { share: number | null }) {
  if (share === null) return <span class="dim">none settled</span>;
  return (
    <span class={share < 0.9 ? 'share bad' : 'share'}>
      <meter aria-hidden="true" min={0} max={1} value={share} />
      {formatShare(share)}
    </span>
  );
}
