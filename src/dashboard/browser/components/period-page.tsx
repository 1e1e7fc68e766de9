import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import type { Schemas } from '../api.js';
import { zoneName } from '../format.js';
import { useAttention } from '../hooks/use-attention.js';
import { areSettled, useData } from '../hooks/use-data.js';
import { useLive } from '../hooks/use-live.js';
import type { ChosenPeriod } from '../hooks/use-period.js';
import { withQuery } from '../navigation.js';
import { CHANGING } from '../stream/changing-types.js';
import {
  type Grouping,
  groupingOf,
  intervalTitle,
  PERIODS,
  type Series,
  type SummedTotals,
} from '../views/overview-view.js';
import { Attention } from './attention.js';
import { AsOf, Button } from './basics.js';
import { Chart } from './chart.js';
import { Figures } from './figures.js';
import { Choice } from './forms/fields.js';
import { Loading, LoadProblem, Page, Panel, Show } from './frame.js';
import { SOURCES_SHOWN, Sources } from './sources.js';

interface Span {
  readonly from: string;
  readonly to: string;
}

/** The requests for what the page shows. */
interface Reads<Totals> {
  totals(query: Span): Promise<Totals>;
  series(query: Span & { interval: 'hour' | 'day'; timeZone: string }): Promise<Series>;
  sources(query: Span & { by: Grouping; limit: number }): Promise<Schemas['Sources']>;
}

interface PeriodPageProps<Totals> {
  title: string;
  /** The site; undefined for all sites together. */
  site?: string;
  period: ChosenPeriod;
  read: Reads<Totals>;
  sum(totals: Totals): SummedTotals;
  actions?: ComponentChildren;
  /** Before the figures. */
  intro?: (totals: Totals) => ComponentChildren;
  /** After what the figures are about. */
  end?: ComponentChildren;
  children(totals: Totals, series: Series): ComponentChildren;
}

/** What needs attention, the figures of a period with their comparison, and one chart beside the sources. */
export function PeriodPage<Totals extends { asOf: Schemas['AsOf'] }>(props: PeriodPageProps<Totals>) {
  const { title, site, period, sum, actions, intro, end, children } = props;
  const { figures, sources } = usePeriodData(props);
  const attention = useAttention();
  const { path, query } = useLocation();
  // The parts below them load on their own.
  const isShown = areSettled(attention, figures);
  return (
    <Page
      title={title}
      note={figures.data && <AsOf time={figures.data.totals.asOf.time} {...(site !== undefined && { of: site })} />}
      actions={
        <>
          <PeriodChoice period={period} />
          {actions}
        </>
      }
    >
      {!isShown && <Loading />}
      {isShown && (
        <>
          <LoadProblem problem={attention.problem} retry={attention.reload} />
          {attention.data && (
            <Attention
              items={site === undefined ? attention.data.items : attention.items}
              withSite={site === undefined}
              onChanged={period.refresh}
            />
          )}
          <Show of={figures}>
            {({ totals, before, series }) => (
              <>
                {intro?.(totals)}
                <Figures totals={sum(totals)} before={sum(before)} days={period.days} />
                <div class="two level">
                  <Panel title="Conversions" note={intervalTitle(period.interval, zoneName())}>
                    <Chart series={series} />
                  </Panel>
                  <Show of={sources}>
                    {(data) => (
                      <Sources
                        sources={data}
                        by={groupingOf(query['by'])}
                        pathOfGrouping={(by) => withQuery(path, { ...query, by })}
                      />
                    )}
                  </Show>
                </div>
                {children(totals, series)}
              </>
            )}
          </Show>
          {end}
        </>
      )}
    </Page>
  );
}

/** Each part on its own, so that one that fails leaves the others. */
function usePeriodData<Totals extends { asOf: Schemas['AsOf'] }>({ site, period, read }: PeriodPageProps<Totals>) {
  const { query } = useLocation();
  const by = groupingOf(query['by']);
  const { days, version } = period;
  const figures = useData(
    `figures ${site} ${days}`,
    async () => {
      const { now, before: earlier } = period.spans();
      const { interval, ...span } = now;
      const [totals, before, series] = await Promise.all([
        read.totals(span),
        read.totals({ from: earlier.from, to: earlier.to }),
        read.series({ ...span, interval, timeZone: zoneName() }),
      ]);
      return { totals, before, series };
    },
    version,
  );
  const sources = useData(
    `sources ${site} ${by} ${days}`,
    () => {
      const { from, to } = period.spans().now;
      return read.sources({ from, to, by, limit: SOURCES_SHOWN });
    },
    version,
  );
  useLive(site, CHANGING.figures, figures, ({ totals, series }) =>
    Math.min(totals.asOf.position, series.asOf.position),
  );
  useLive(site, CHANGING.sources, sources, ({ asOf }) => asOf.position);
  return { figures, sources };
}

function PeriodChoice({ period: { days, choose, refresh } }: { period: ChosenPeriod }) {
  return (
    <>
      <Choice label="Period" value={String(days)} options={PERIODS} onValue={choose} />
      <Button label="Refresh" onClick={refresh} />
    </>
  );
}
