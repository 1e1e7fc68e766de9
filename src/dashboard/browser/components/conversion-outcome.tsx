import { type Conversion, deliveredText, markOf } from '../views/conversions-view.js';
import { reasonText } from '../views/reason-view.js';
import { StatusBadge } from './basics.js';

/** What became of a conversion: a mark for each delivery and how many were delivered, or why it does not count. */
export function ConversionOutcome({
  status,
  reason,
  deliveries,
}: Pick<Conversion, 'status' | 'reason' | 'deliveries'>) {
  if (status !== 'received')
    return (
      <>
        <StatusBadge status={status} /> <span class="dim">{reason !== undefined && reasonText(reason)}</span>
      </>
    );
  return (
    <div class="outcome">
      {deliveries.length > 0 && (
        <ul>
          {deliveries.map(markOf).map(({ connection, letters, sign, tone, text }) => (
            <li key={connection} class={tone} title={text}>
              <span aria-hidden="true">
                {letters}
                <b>{sign}</b>
              </span>
              <span class="hidden">{text}</span>
            </li>
          ))}
        </ul>
      )}
      <span class="dim">{deliveredText(deliveries)}</span>
    </div>
  );
}
