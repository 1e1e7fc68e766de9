import type { Schemas } from '../api.js';
import { acceptanceSlots } from '../chart-view.js';
import { type Connection, connectionState } from '../connection-view.js';
import { connectionTitle, formatNumber } from '../format.js';
import { pathOf, withQuery } from '../navigation.js';
import { platformRows, type Series } from '../overview-view.js';
import { Acceptance } from './acceptance.js';
import { Badge } from './badge.js';
import { Panel } from './panel.js';
import { Empty } from './states.js';
import { Table } from './table.js';
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
            {
              title: 'Acceptance',
              cell: ({ platform, acceptance, unconfirmed }) => (
                <Acceptance
                  platform={connectionTitle(platform)}
                  share={acceptance}
                  unconfirmed={unconfirmed}
                  slots={acceptanceSlots(series, platform)}
                />
              ),
            },
            { title: 'Accepted', isNumber: true, cell: ({ accepted }) => formatNumber(accepted) },
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
            {
              title: 'Refused',
              isNumber: true,
              cell: ({ rejected, failed }) => (
                <span title={`${formatNumber(failed)} failed, ${formatNumber(rejected)} rejected later`}>
                  {formatNumber(rejected + failed)}
                </span>
              ),
            },
            { title: 'Not sent', isNumber: true, isMinor: true, cell: ({ skipped }) => formatNumber(skipped) },
          ]}
        />
      )}
    </Panel>
  );
}

/** The service counts up to this. */
const COUNTED_MAX = 10_000;

function formatWaiting(count: number): string {
  return count >= COUNTED_MAX ? `${formatNumber(count)}+` : formatNumber(count);
}
