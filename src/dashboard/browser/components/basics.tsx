import { type ComponentChildren } from 'preact';
import { useCallback, useState } from 'preact/hooks';
import { outcomeWord } from '../../../kernel/outcome-words.js';
import { clock } from '../api.js';
import {
  formatAge,
  formatClock,
  formatDay,
  formatMoney,
  formatMoneyShort,
  formatTime,
  formatWhole,
  statusTone,
  type Tone,
} from '../format.js';
import { useInterval } from '../hooks/use-data.js';
import { toast } from './toasts.js';

export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** In the words of `OUTCOME_WORDS`. */
export function StatusBadge({ status, reason }: { status: string; reason?: string | undefined }) {
  return <Badge tone={statusTone(status)}>{outcomeWord(status, reason)}</Badge>;
}

interface ButtonProps {
  label: string;
  /** What it is about, after the label, for those who do not see what it is beside. */
  about?: string;
  /** In place of the label, for those who do not see it. */
  name?: string;
  kind?: 'primary' | 'danger' | 'quiet' | undefined;
  isDisabled?: boolean;
  onClick(): unknown;
}

export function Button({ label, about, name, kind, isDisabled = false, onClick }: ButtonProps) {
  return (
    <button type="button" class={kind} aria-label={name} disabled={isDisabled} onClick={() => void onClick()}>
      {label} {about !== undefined && <span class="hidden">{about}</span>}
    </button>
  );
}

/** A text to copy, such as a command or a secret. */
export function CopyText({ label, text }: { label: string; text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      toast('The browser does not allow copying. Select the text and copy it.', 'bad');
    }
  };
  return (
    <div class="copy">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section class="code" aria-label={label} tabIndex={0}>
        <pre>{text}</pre>
      </section>
      <Button label={isCopied ? 'Copied' : 'Copy'} name={`Copy: ${label}`} onClick={copy} />
    </div>
  );
}

/** A value of the API to copy. */
export function CopyJson({ label, value }: { label: string; value: unknown }) {
  return <CopyText label={label} text={JSON.stringify(value, null, 2)} />;
}

interface FactRow {
  readonly name: string;
  readonly value: ComponentChildren;
  /** A name of the API or of a platform, which stays as it is written. */
  readonly isCode?: boolean | undefined;
}

/** Names and values, a line each. */
export function Facts({ rows, isPadded = false }: { rows: readonly FactRow[]; isPadded?: boolean }) {
  return (
    <dl class={isPadded ? 'facts pad' : 'facts'}>
      {rows.map(({ name, value, isCode }, index) => (
        <div key={`${name} ${index}`}>
          <dt class={isCode ? 'code' : undefined}>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A sum, rounded to what matters. Pointing at it tells the exact one, and so does a screen reader. */
export function Money({ value, currency }: { value: number; currency: string }) {
  const [exact, short] = [formatMoney(value, currency), formatMoneyShort(value, currency)];
  if (exact === short) return <>{exact}</>;
  return (
    <span title={exact}>
      <span aria-hidden="true">{short}</span>
      <span class="hidden">{exact}</span>
    </span>
  );
}

const FORMATS = {
  time: (time: string) => formatTime(time),
  age: (time: string) => <Age time={time} />,
  day: formatDay,
  clock: (time: string) => formatClock(time),
} as const;

interface TimeProps {
  /** Without one: never. */
  time: string | null | undefined;
  as?: keyof typeof FORMATS;
}

/** In the viewer's zone; the title names the zone, and says it in UTC, as the log does. */
export function Time({ time, as = 'time' }: TimeProps) {
  if (!time) return <span class="dim">never</span>;
  return (
    <time dateTime={time} title={formatWhole(time)}>
      {FORMATS[as](time)}
    </time>
  );
}

const AGE_CHANGES_MS = 30_000;

/** How long ago, while the page stays open. */
function Age({ time }: { time: string }) {
  const [nowMs, setNowMs] = useState(() => clock.nowMs());
  useInterval(
    useCallback(() => setNowMs(clock.nowMs()), []),
    AGE_CHANGES_MS,
  );
  return <>{formatAge(time, nowMs)}</>;
}

/** Up to when a number counts everything. */
export function AsOf({ time, of }: { time: string; of?: string }) {
  return (
    <>
      {of !== undefined && `${of}, `}as of <Time time={time} as="clock" />
    </>
  );
}
