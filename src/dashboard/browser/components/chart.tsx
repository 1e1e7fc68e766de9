import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { axisTime, formatNumber, formatTime } from '../format.js';
import {
  AXIS_STEPS,
  isByDay,
  LAYERS,
  labelledMarks,
  type Mark,
  marksOf,
  stackedValues,
  unfinishedFrom,
} from '../views/chart-view.js';
import type { Series } from '../views/overview-view.js';
import { Time } from './basics.js';
import { Table } from './table.js';

const HEIGHT = 240;
/** Pixels that the text of a mark needs. */
const MARK_ROOM = 150;
const MARKS_LISTED = 5;

/** Conversions, duplicates and filtered ones over time, with what happened to connections and to the service. */
export function Chart({ series }: { series: Series }) {
  const ref = useRef<HTMLDivElement>(null);
  const [isFailed, setFailed] = useState(false);
  /** The bucket that the pointer is at. */
  const [at, setAt] = useState<number>();
  const marks = useMemo(() => marksOf(series), [series]);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    let plot: uPlot | undefined;
    let isGone = false;
    const draw = async () => {
      // Its own file, which only this page loads.
      const { default: Plot } = await import('uplot');
      // In a task of its own.
      await new Promise((resolve) => setTimeout(resolve));
      if (isGone) return;
      plot?.destroy();
      const onPointer = ({ cursor }: uPlot) => setAt(cursor.idx ?? undefined);
      plot = new Plot(optionsOf(series, marks, element.clientWidth, onPointer), dataOf(series), element);
    };
    const redraw = () => void draw().catch(() => setFailed(true));
    redraw();
    const resize = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', redraw);
    const theme = new MutationObserver(redraw);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      isGone = true;
      resize.disconnect();
      theme.disconnect();
      scheme.removeEventListener('change', redraw);
      plot?.destroy();
    };
  }, [series]);
  const total = series.buckets.reduce((sum, { conversions }) => sum + conversions, 0);
  const bucket = at === undefined ? undefined : series.buckets[at];
  return (
    <figure class="chart">
      <div ref={ref} role="img" aria-label={`Conversions over time, ${formatNumber(total)} in total`} />
      {isFailed && <p class="state">The chart cannot be drawn in this browser.</p>}
      <figcaption>
        {LAYERS.map(({ name, title, of }) => (
          <span key={name}>
            <i class={name} aria-hidden="true" />
            {title} {bucket && <strong>{formatNumber(of(bucket))}</strong>}
          </span>
        ))}
        {bucket && <span>{formatTime(bucket.start)}</span>}
        {!bucket && unfinishedFrom(series) !== undefined && (
          <span>The last {isByDay(series.buckets) ? 'day' : 'hour'} is not over yet</span>
        )}
      </figcaption>
      <Marks marks={marks} />
      <Numbers series={series} />
    </figure>
  );
}

/** The newest marks as text. */
function Marks({ marks }: { marks: readonly Mark[] }) {
  if (marks.length === 0) return null;
  const earlier = marks.length - MARKS_LISTED;
  return (
    <ul class="marks" aria-label="What happened meanwhile">
      {marks
        .slice(-MARKS_LISTED)
        .reverse()
        .map(({ time, text, tone, reason }) => (
          <li key={`${time} ${text}`} class={tone}>
            <Time time={time} /> <strong>{text}</strong> {reason !== undefined && <span class="dim">{reason}</span>}
          </li>
        ))}
      {earlier > 0 && <li class="dim">and {formatNumber(earlier)} earlier</li>}
    </ul>
  );
}

/** The chart as a table, for those who cannot see or point at it. */
function Numbers({ series: { buckets } }: { series: Series }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show the numbers</summary>
      {isOpen && (
        <Table
          label="Conversions over time"
          rows={buckets.toReversed()}
          rowKey={({ start }) => start}
          columns={[
            { title: 'From', cell: ({ start }) => <Time time={start} /> },
            ...LAYERS.map(({ title, of }) => ({
              title,
              kind: 'number' as const,
              cell: (bucket: Series['buckets'][number]) => of(bucket),
            })),
          ]}
        />
      )}
    </details>
  );
}

/** Upper layers first: the lower ones are drawn over them. */
function dataOf({ buckets }: Series): uPlot.AlignedData {
  const times = buckets.map(({ start }) => Date.parse(start) / 1_000);
  return [times, ...stackedValues(buckets).reverse()];
}

function optionsOf(
  series: Series,
  marks: readonly Mark[],
  width: number,
  onPointer: (plot: uPlot) => void,
): uPlot.Options {
  const { buckets } = series;
  const unfinished = unfinishedFrom(series);
  const style = getComputedStyle(document.documentElement);
  const color = appliedColors();
  const font = `12px ${style.fontFamily}`;
  const axis = { stroke: color('--dim'), font, grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } };
  const layers = LAYERS.toReversed().map(({ name, title }) => ({
    label: title,
    stroke: color(`--layer-${name}`),
    fill: color(`--layer-${name}-fill`),
    width: 1.5,
    points: { show: buckets.length < 3 },
  }));
  const days = new Set(buckets.map(({ start }) => new Date(start).toDateString())).size;
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false } },
    // The last label of the time axis is centred below its line.
    padding: [18, 32, 0, 0],
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 84,
        size: 28,
        values: (_plot, splits) => splits.map((split) => axisTime(split * 1_000, isByDay(buckets) || days > 2)),
      },
      {
        ...axis,
        size: 48,
        incrs: AXIS_STEPS,
        values: (_plot, splits) => splits.map((split) => formatNumber(split)),
      },
    ],
    scales: {
      // To the newest mark, which may be in the middle of the last bucket.
      x: { range: (_plot, min, max) => [min, Math.max(max, Date.parse(marks.at(-1)?.time ?? '') / 1_000 || max)] },
      y: { range: (_plot, _min, max) => [0, Math.max(5, max * 1.1)] },
    },
    series: [{}, ...layers],
    hooks: {
      draw: [
        (plot) => unfinished !== undefined && fadeFrom(plot, unfinished, color('--panel')),
        (plot) => drawMarks(plot, marks, (tone) => color(tone === 'plain' ? '--dim' : `--${tone}`)),
      ],
      setCursor: [onPointer],
    },
  };
}

const COLORS = [
  ...['--panel', '--dim', '--line', '--bad', '--warn', '--ok', '--wait'],
  ...LAYERS.flatMap(({ name }) => [`--layer-${name}`, `--layer-${name}-fill`]),
];

/** The properties are pairs of colours; a painted element has the one that applies. All at once: each change computes styles anew. */
function appliedColors(): (property: string) => string {
  const probes = COLORS.map((property) => {
    const probe = document.createElement('i');
    probe.style.color = `var(${property})`;
    return probe;
  });
  document.body.append(...probes);
  const colors = new Map(probes.map((probe, index) => [COLORS[index], getComputedStyle(probe).color]));
  for (const probe of probes) probe.remove();
  return (property) => colors.get(property) ?? '';
}

/** A bucket that is not over yet looks like a fall: it is paler than the others. */
function fadeFrom(plot: uPlot, time: string, background: string): void {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(Date.parse(time) / 1_000, 'x', true);
  ctx.save();
  ctx.globalAlpha = 0.7;
  ctx.fillStyle = background;
  ctx.fillRect(x, bbox.top, bbox.left + bbox.width - x, bbox.height);
  ctx.restore();
}

/** A dashed line where something happened, with the text where there is room. */
function drawMarks(plot: uPlot, marks: readonly Mark[], colorOf: (tone: Mark['tone']) => string): void {
  const { ctx, bbox } = plot;
  const positionOf = (time: string) => plot.valToPos(Date.parse(time) / 1_000, 'x', true);
  const shown = marks.filter(({ time }) => {
    const x = positionOf(time);
    return x >= bbox.left && x <= bbox.left + bbox.width;
  });
  const labelled = new Set(labelledMarks(shown, positionOf, MARK_ROOM * devicePixelRatio));
  ctx.save();
  ctx.font = `${12 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const mark of shown) {
    const x = positionOf(mark.time);
    ctx.strokeStyle = colorOf(mark.tone);
    ctx.fillStyle = colorOf(mark.tone);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (!labelled.has(mark)) continue;
    ctx.textAlign = x > bbox.left + bbox.width / 2 ? 'right' : 'left';
    ctx.fillText(mark.text, x, bbox.top - 5 * devicePixelRatio);
  }
  ctx.restore();
}
