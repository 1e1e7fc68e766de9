import type { Schemas } from '../api.js';
import { connectionTitle, formatNumber } from '../format.js';
import { pathOf, withQuery } from '../navigation.js';
import { acceptanceSlots } from '../views/chart-view.js';
import { type Connection, connectionState } from '../views/connection-view.js';
import { type PlatformRow, platformRows, type Series } from '../views/overview-view.js';
import { Badge } from './badge.js';
import { Acceptance } from './forms/acceptance.js';
import { Panel } from './panel.js';
import { Empty } from './states.js';
import { type Column, Table } from './table.js';
import { AsOf } from './time.js';

interface PlatformsProps {
  site: string;
  series: Series;
  connections: readonly Connection[];
  waiting: Schemas['WaitingDeliveries'];
}

/** A row per platform: its state in words, what it accepted over time, and what waits. */
export function Platforms({ site, series, connections, waiting }: PlatformsProps) {
  const connected = connections.filter((connection) => connection.connected);
  const rows = platformRows(
    series,
    connected.map(({ platform }) => platform),
    waiting.items,
  );
  const stateOf = (platform: string) =>
    connectionState(connections.find((connection) => connection.platform === platform) ?? { connected: false });
  return (
    <Panel title="Platforms" note={<AsOf time={waiting.asOf.time} />}>
      {rows.length === 0 && (
        <Empty title="No platform is connected">
          <a href={pathOf(site, 'integrations')}>Connect one</a>, and conversions are delivered there.
        </Empty>
      )}
      {rows.length > 0 && (
        <Table
          label="Platforms"
          rows={rows}
          rowKey={({ platform }) => platform}
          columns={[
            {
              title: 'Platform',
              cell: ({ platform }) => (
                <a class="plain" href={withQuery(pathOf(site, 'sync-log'), { platform })}>
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
            acceptanceColumn(series),
            ACCEPTED,
            {
              title: 'Unconfirmed',
              isNumber: true,
              isMinor: true,
              cell: ({ unconfirmed }) => (
                <span title="Accepted by the platform, which has not said yet whether it counts them">
                  {formatWaiting(unconfirmed)}
                </span>
              ),
            },
            { title: 'Queued', isNumber: true, cell: ({ queued }) => formatWaiting(queued) },
            REFUSED,
            NOT_SENT,
          ]}
        />
      )}
    </Panel>
  );
}

/** What the platforms accepted, of all sites together. Nothing if nothing was sent. */
export function PlatformsOfAllSites({ series }: { series: Schemas['Series'] }) {
  const rows = platformRows(series, [], []);
  if (rows.length === 0) return null;
  return (
    <Panel title="Platforms" note={<AsOf time={series.asOf.time} />}>
      <Table
        label="Platforms"
        rows={rows}
        rowKey={({ platform }) => platform}
        columns={[
          { title: 'Platform', cell: ({ platform }) => connectionTitle(platform) },
          acceptanceColumn(series),
          ACCEPTED,
          REFUSED,
          NOT_SENT,
        ]}
      />
    </Panel>
  );
}

function acceptanceColumn(series: Series): Column<PlatformRow> {
  return {
    title: 'Acceptance',
    cell: ({ platform, acceptance, unconfirmed }) => (
      <Acceptance
        platform={connectionTitle(platform)}
        share={acceptance}
        unconfirmed={unconfirmed}
        slots={acceptanceSlots(series, platform)}
      />
    ),
  };
}

const ACCEPTED: Column<PlatformRow> = {
  ...{ title: 'Accepted', isNumber: true },
  cell: ({ accepted }) => formatNumber(accepted),
};

const REFUSED: Column<PlatformRow> = {
  ...{ title: 'Refused', isNumber: true },
  cell: ({ rejected, failed }) => (
    <span title={`${formatNumber(failed)} failed, ${formatNumber(rejected)} rejected later`}>
      {formatNumber(rejected + failed)}
    </span>
  ),
};

const NOT_SENT: Column<PlatformRow> = {
  ...{ title: 'Not sent', isNumber: true, isMinor: true },
  cell: ({ skipped }) => formatNumber(skipped),
};

/** The service counts up to this. */
const COUNTED_MAX = 10_000;

function formatWaiting(count: number): string {
  return count >= COUNTED_MAX ? `${formatNumber(count)}+` : formatNumber(count);
}
