import type { Schemas } from '../api.js';
import { connectionTitle, formatNumber, formatShare } from '../format.js';
import {
  adviceOf,
  carriedOf,
  identifierTitle,
  type PlatformQuality,
  qualityRows,
} from '../views/match-quality-view.js';
import { AsOf } from './basics.js';
import { Empty, Panel } from './frame.js';
import { Table } from './table.js';

/** For each platform: which identifiers its conversions carried, and which missing one would help most. */
export function MatchQuality({ quality: { items, asOf } }: { quality: Schemas['MatchQuality'] }) {
  const rows = qualityRows(items);
  return (
    <Panel title="Match quality" note={<AsOf time={asOf.time} />}>
      <Table
        label="Match quality"
        rows={rows}
        rowKey={({ platform }) => platform}
        empty={<Empty title="No conversion for a connected platform in this period" />}
        columns={[
          { title: 'Platform', cell: ({ platform }) => connectionTitle(platform) },
          { title: 'Matched', kind: 'number', cell: ({ matchRate }) => formatShare(matchRate ?? 0) },
          { title: 'Conversions carried', kind: 'text', cell: (row) => <Carried quality={row} /> },
          { title: 'Would help most', kind: 'text', cell: (row) => <Advice quality={row} /> },
        ]}
      />
    </Panel>
  );
}

function Carried({ quality }: { quality: PlatformQuality }) {
  const { carried, never } = carriedOf(quality);
  return (
    <ul class="carried">
      {carried.map(({ identifier, carried, share }) => (
        <li key={identifier} title={`${formatNumber(carried)} conversions`}>
          {identifierTitle(identifier)} <strong>{formatShare(share ?? 0)}</strong>
        </li>
      ))}
      {never.length > 0 && <li>never: {never.join(', ')}</li>}
    </ul>
  );
}

function Advice({ quality }: { quality: PlatformQuality }) {
  const advice = adviceOf(quality);
  if (!advice) return <span class="dim">nothing is missing</span>;
  return (
    <>
      {advice.what}
      <span class="dim">: {advice.how}</span>
    </>
  );
}
