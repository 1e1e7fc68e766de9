import { formatNumber, formatShare, formatTime } from '../format.js';
import { type AcceptanceSlot, acceptanceTone } from '../views/chart-view.js';

const [WIDTH, GAP, HEIGHT] = [4, 1, 18];

interface AcceptanceProps {
  platform: string;
  share: number | null;
  /** Accepted, and not confirmed yet. */
  unconfirmed: number;
  slots: readonly AcceptanceSlot[];
}

/** The share that a platform accepted, and how it changed: a bar for each part of the period. */
export function Acceptance({ platform, share, unconfirmed, slots }: AcceptanceProps) {
  if (share === null) return <span class="dim">{unconfirmed > 0 ? 'none confirmed yet' : 'nothing sent'}</span>;
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
      {formatShare(share)}
    </span>
  );
}
