import { formatNumber } from '../format.js';
import { Button } from './basics.js';

/** How many rows the list above which it is does not show yet. */
export function Arrived({ count, of, onShow }: { count: number; of: string; onShow(): void }) {
  return (
    <div role="status">
      {count > 0 && (
        <div class="more">
          <Button label={`${formatNumber(count)} new`} about={`${of}: show them`} onClick={onShow} />
        </div>
      )}
    </div>
  );
}
