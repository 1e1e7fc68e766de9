import type { Schemas } from '../api.js';
import { formatNumber } from '../format.js';
import { GROUPINGS, type Grouping, sourceRows } from '../views/overview-view.js';
import { AsOf, Money } from './basics.js';
import { Empty, Panel } from './frame.js';

/** The others are one row. */
export const SOURCES_SHOWN = 6;

interface SourcesProps {
  sources: Schemas['Sources'];
  by: Grouping;
  /** The address with another grouping. */
  pathOfGrouping(by: Grouping): string;
}

/** Where conversions came from, the largest first. */
export function Sources({ sources, by, pathOfGrouping }: SourcesProps) {
  const rows = sourceRows(sources, by);
  const most = Math.max(1, ...rows.map(({ conversions }) => conversions));
  return (
    <Panel
      title="Sources"
      note={<AsOf time={sources.asOf.time} />}
      actions={
        <nav class="choice" aria-label="Group by">
          {GROUPINGS.map(([name, title]) => (
            <a key={name} href={pathOfGrouping(name)} aria-current={name === by ? 'true' : undefined}>
              {title}
            </a>
          ))}
        </nav>
      }
    >
      {rows.length === 0 && <Empty title="No conversion in this period" />}
      <ul class="bars">
        {rows.map(({ title, conversions, value, isKnown, hint }) => (
          <li key={title}>
            <span title={hint ?? title}>{title}</span>
            <meter class={isKnown ? '' : 'dim'} aria-hidden="true" min={0} max={most} value={conversions} />
            <span class="number">{formatNumber(conversions)}</span>
            <span class="number dim">{value ? <Money value={value.value} currency={value.currency} /> : '–'}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
