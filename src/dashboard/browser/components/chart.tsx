import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { connectionTitle } from '../format.js';
import type { Series } from '../overview-view.js';

const HEIGHT = 220;
/** Name of the custom property of each line, and the number it shows. */
const LINES = [
  ['Conversions', '--ok', 'conversions'],
  ['Bots removed', '--warn', 'botTrafficRemoved'],
  ['Duplicates', '--wait', 'duplicates'],
] as const;

/** Conversions, bots and duplicates over time, with what happened to connections. */
export function Chart({ series }: { series: Series }) {
  const ref = useRef<HTMLDivElement>(null);
  const [isFailed, setFailed] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    let plot: uPlot | undefined;
    let isGone = false;
    const draw = async () => {
      // Its own file, which only this page loads.
      const { default: Plot } = await import('uplot');
      if (isGone) return;
      plot?.destroy();
      plot = new Plot(optionsOf(series, element.clientWidth), dataOf(series), element);
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
  return (
    <figure class="chart">
      <div ref={ref} role="img" aria-label={`Conversions over time, ${total} in total`} />
      {isFailed && <p class="state">The chart cannot be drawn in this browser.</p>}
      <figcaption>
        {LINES.map(([title, color]) => (
          <span key={title}>
            <i class={color.slice(2)} aria-hidden="true" />
            {title}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function dataOf({ buckets }: Series): uPlot.AlignedData {
  const times = buckets.map(({ start }) => Date.parse(start) / 1_000);
  return [times, ...LINES.map(([, , name]) => buckets.map((bucket) => bucket[name]))] as uPlot.AlignedData;
}

function optionsOf(series: Series, width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  // The properties are pairs of colours; a painted element has the one that applies.
  const probe = document.createElement('i');
  document.body.append(probe);
  const color = (property: string) => {
    probe.style.color = `var(${property})`;
    return getComputedStyle(probe).color;
  };
  const axis = { stroke: color('--dim'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } };
  const lines = LINES.map(([label, property]) => ({
    label,
    stroke: color(property),
    width: 1.5,
    points: { show: series.buckets.length < 3 },
    ...(property === '--ok' && { fill: color('--ok-soft') }),
  }));
  const mark = color('--bad');
  probe.remove();
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    padding: [16, 8, 0, 0],
    axes: [
      { ...axis, font: `12px ${style.fontFamily}`, grid: { show: false }, space: 80 },
      {
        ...axis,
        font: `12px ${style.fontFamily}`,
        size: 44,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6],
      },
    ],
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(5, max * 1.1)] } },
    series: [{}, ...lines],
    hooks: { draw: [(plot) => drawAnnotations(plot, series, mark)] },
  };
}

/** A dashed line where a connection stopped or came back. */
function drawAnnotations(plot: uPlot, { annotations }: Series, color: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.font = `${12 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { time, kind, platform } of annotations.filter(({ kind }) => kind === 'parked')) {
    const x = plot.valToPos(Date.parse(time) / 1_000, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.textAlign = x > bbox.left + bbox.width / 2 ? 'right' : 'left';
    ctx.fillText(`${connectionTitle(platform)} ${kind}`, x, bbox.top - 4);
  }
  ctx.restore();
}
