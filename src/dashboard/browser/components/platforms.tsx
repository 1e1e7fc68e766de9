import type { Schemas } from '../api.js';
import { connectionTitle, formatNumber, formatShare, formatTime } from '../format.js';
import { useAttention } from '../hooks/use-attention.js';
import { pathOf, withQuery } from '../navigation.js';
import { connectionHealth, itemsAt } from '../views/attention-view.js';
import { type AcceptanceSlot, acceptanceSlots, acceptanceTone } from '../views/chart-view.js';
import { type Connection, connectedNames } from '../views/connection-view.js';
import {
  acceptanceText,
  isOpen,
  type PlatformRow,
  platformRows,
  type Series,
  waitingText,
} from '../views/overview-view.js';
import { AsOf, Badge } from './basics.js';
import { Empty, Panel } from './frame.js';
import { type Column, Table } from './table.js';

interface PlatformsProps {
  site: string;
  series: Series;
  connections: readonly Connection[];
  waiting: Schemas['WaitingDeliveries'];
}

/** A row per platform: its state in words, what it accepted over time, and what waits. */
export function Platforms({ site, series, connections, waiting }: PlatformsProps) {
  const connected = connectedNames(connections);
  const { items } = useAttention();
  const stateOf = ({ platform }: PlatformRow) => {
    const connection = connections.find((one) => one.platform === platform) ?? { connected: false };
    return connectionHealth(connection, itemsAt(items, site, platform));
  };
  return (
    <Panel title="Platforms" note={<AsOf time={waiting.asOf.time} />}>
      <Table
        label="Platforms"
        rows={platformRows(series, connected, waiting.items)}
        rowKey={({ platform }) => platform}
        empty={
          <Empty title="No platform is connected">
            <a href={pathOf(site, 'integrations')}>Connect one</a>, and conversions are delivered there.
          </Empty>
        }
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
            cell: (row) => {
              const [tone, words] = stateOf(row);
              return <Badge tone={tone}>{words}</Badge>;
            },
          },
          acceptanceColumn(series),
          ACCEPTED,
          UNCONFIRMED,
          { title: 'Waiting', kind: 'number', cell: ({ queued }) => waitingText(queued) },
          REFUSED,
          NOT_SENT,
        ]}
      />
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
    cell: (row) => {
      const slots = isOpen(row) ? [] : acceptanceSlots(series, row.platform);
      return <Acceptance platform={connectionTitle(row.platform)} text={acceptanceText(row)} slots={slots} />;
    },
  };
}

const ACCEPTED: Column<PlatformRow> = { title: 'Accepted', kind: 'number', cell: ({ accepted }) => accepted };

const UNCONFIRMED: Column<PlatformRow> = {
  ...{ title: 'Unconfirmed', kind: 'number', isMinor: true },
  cell: ({ unconfirmed }) => (
    <span title="Accepted by the platform, which has not said yet whether it counts them">
      {waitingText(unconfirmed)}
    </span>
  ),
};

const REFUSED: Column<PlatformRow> = {
  ...{ title: 'Refused', kind: 'number' },
  cell: ({ rejected, failed }) => (
    <span title={`${formatNumber(failed)} at once, ${formatNumber(rejected)} after it had accepted them`}>
      {formatNumber(rejected + failed)}
    </span>
  ),
};

const NOT_SENT: Column<PlatformRow> = {
  title: 'Not sent',
  kind: 'number',
  isMinor: true,
  cell: ({ skipped }) => skipped,
};

const [WIDTH, GAP, HEIGHT] = [4, 1, 18];

interface AcceptanceProps {
  platform: string;
  text: string;
  slots: readonly AcceptanceSlot[];
}

/** What a platform accepted, and how that changed: a bar for each part of the period. */
function Acceptance({ platform, text, slots }: AcceptanceProps) {
  if (slots.every(({ acceptance }) => acceptance === null)) return <span class="dim">{text}</span>;
  const worst = slots
    .filter(({ acceptance }) => acceptance !== null)
    .reduce((one, other) => ((other.acceptance ?? 1) < (one.acceptance ?? 1) ? other : one));
  const lowest = `lowest ${formatShare(worst.acceptance ?? 1)} from ${formatTime(worst.start)} on`;
  return (
    <span class="share">
      <svg
        role="img"
        aria-label={`Acceptance of ${platform} over time: ${lowest}`}
        width={slots.length * (WIDTH + GAP)}
        height={HEIGHT}
      >
        {slots.map(({ start, sent, acceptance }, index) => (
          <rect
            key={start}
            class={acceptanceTone(acceptance)}
            x={index * (WIDTH + GAP)}
            width={WIDTH}
            height={HEIGHT}
            rx="1"
          >
            <title>
              {acceptance === null
                ? `From ${formatTime(start)}: nothing sent`
                : `From ${formatTime(start)}: ${formatShare(acceptance)} of ${formatNumber(sent)}`}
            </title>
          </rect>
        ))}
      </svg>
      {text}
    </span>
  );
}
