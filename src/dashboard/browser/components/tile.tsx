import type { ComponentChildren } from 'preact';
import type { Change } from '../views/overview-view.js';

interface TileProps {
  title: string;
  value: ComponentChildren;
  change?: Change | undefined;
  /** What it is compared with. */
  comparison?: string | undefined;
  /** A further number. */
  note?: ComponentChildren;
}

const ARROWS = { up: '▲ ', down: '▼ ', same: '±' } as const;

/** One figure with its comparison. */
export function Tile({ title, value, change, comparison, note }: TileProps) {
  return (
    <div class="panel tile">
      <dt>{title}</dt>
      <dd>
        <strong>{value}</strong>
        <span class="dim">
          {change && (
            <>
              <span class={change.direction}>
                {ARROWS[change.direction]}
                {change.text}
              </span>{' '}
            </>
          )}
          {comparison}
          {change && note && '· '}
          {note}
        </span>
      </dd>
    </div>
  );
}
