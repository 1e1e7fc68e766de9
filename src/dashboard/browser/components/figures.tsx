import type { ComponentChildren } from 'preact';
import { formatNumber, formatShare } from '../format.js';
import {
  type Change,
  changeOf,
  exactValues,
  pointsOf,
  type SummedTotals,
  valuesOf,
  valuesText,
} from '../views/overview-view.js';
import { Money } from './basics.js';

interface FiguresProps {
  totals: SummedTotals;
  /** Totals of the period before, to compare with. */
  before: SummedTotals;
  days: number;
}

/** The figures of a period, each with its comparison. */
export function Figures({ totals, before, days }: FiguresProps) {
  const { main, others } = valuesOf(totals.values);
  const earlier = before.values.find(({ currency }) => currency === main?.currency);
  const previous = days === 1 ? 'day before' : `${days} days before`;
  const refused = totals.refused + totals.authenticationFailures;
  return (
    <dl class="tiles">
      <Tile
        title="Conversions"
        value={formatNumber(totals.conversions)}
        change={changeOf(totals.conversions, before.conversions)}
        comparison={before.conversions === 0 ? `none in the ${previous}` : `vs. ${previous}`}
      />
      <Tile
        title={others.length === 0 ? 'Value' : `Value in ${main?.currency}`}
        value={main ? <Money value={main.value} currency={main.currency} /> : '–'}
        change={main && changeOf(main.value, earlier?.value ?? 0)}
        note={others.length > 0 && <span title={exactValues(others)}>+ {valuesText(others, 1)}</span>}
      />
      <Tile
        title="Matched to a visit"
        value={totals.matchRate === null ? '–' : formatShare(totals.matchRate)}
        change={pointsOf(totals.matchRate, before.matchRate)}
        note={`${formatNumber(totals.matched)} of them`}
      />
      <Tile
        title="Bot traffic removed"
        value={formatNumber(totals.botTrafficRemoved)}
        note={`${formatNumber(totals.filtered)} conversions`}
      />
      <Tile
        title="Duplicates removed"
        value={formatNumber(totals.duplicates)}
        note={`${formatNumber(totals.changedDuplicates)} changed`}
      />
      {refused > 0 && (
        <Tile
          title="Refused requests"
          value={formatNumber(refused)}
          note={`${formatNumber(totals.authenticationFailures)} with a wrong key`}
        />
      )}
    </dl>
  );
}

interface TileProps {
  title: string;
  value: ComponentChildren;
  change?: Change | undefined;
  /** What it is compared with. */
  comparison?: string;
  /** A further number. */
  note?: ComponentChildren;
}

const ARROWS = { up: '▲ ', down: '▼ ', same: '±' } as const;

/** One figure with its comparison. */
function Tile({ title, value, change, comparison, note }: TileProps) {
  return (
    <div class="panel tile">
      <dt>{title}</dt>
      <dd>
        <strong>{value}</strong>
        <span class="dim">
          {change && <span class={change.direction}>{ARROWS[change.direction] + change.text}</span>}
          {change && ' '}
          {comparison}
          {change && note && '· '}
          {note}
        </span>
      </dd>
    </div>
  );
}
