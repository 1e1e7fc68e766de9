import type { Schemas } from '../api.js';
import { formatMoneyShort, formatNumber, formatShare } from '../format.js';
import { sourceRows } from '../overview-view.js';
import { Panel } from './panel.js';
import { Empty } from './states.js';

/** Where conversions came from, the largest first. */
export function Sources({ sources }: { sources: Schemas['Sources'] }) {
  const rows = sourceRows(sources);
  const most = Math.max(1, ...rows.map(({ conversions }) => conversions));
  return (
    <Panel title="Sources" note="by conversions">
      {rows.length === 0 && <Empty title="No conversion in this period" />}
      <ul class="bars">
        {rows.map(({ title, conversions, value, isMatched }) => (
          <li key={title}>
            <span title={title}>{title}</span>
            <meter class={isMatched ? '' : 'dim'} aria-hidden="true" min={0} max={most} value={conversions} />
            <span class="number">
              {formatNumber(conversions)}{' '}
              {value && <span class="dim">{formatMoneyShort(value.value, value.currency)}</span>}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Which missing field would help a platform most. */
export function HelpsMost({ quality }: { quality: Schemas['MatchQuality']['items'][number] | undefined }) {
  if (!quality || quality.conversions === 0) return <span class="dim">–</span>;
  const carried = quality.identifiers.filter(({ carried }) => carried > 0).map(({ identifier }) => identifier);
  if (!quality.helpsMost) return <>{carried.length === 0 ? '–' : 'complete'}</>;
  const { identifier, missing } = quality.helpsMost;
  return (
    <span title={`Carried: ${carried.join(', ') || 'none'}`}>
      <code>{identifier}</code> <span class="dim">missing in {formatShare(missing / quality.conversions)}</span>
    </span>
  );
}
