import { useLocation } from 'preact-iso';
import { api, dataOf, type Schemas } from '../api.js';
import { Attention } from '../components/attention.js';
import { Chart } from '../components/chart.js';
import { Figures } from '../components/figures.js';
import { MatchQuality } from '../components/match-quality.js';
import { Page, Panel } from '../components/panel.js';
import { PeriodChoice } from '../components/period-choice.js';
import { Platforms } from '../components/platforms.js';
import { Sources } from '../components/sources.js';
import { Show } from '../components/states.js';
import { AsOf } from '../components/time.js';
import type { Connection } from '../connection-view.js';
import { zoneName } from '../format.js';
import { withQuery } from '../navigation.js';
import { groupingOf, intervalTitle, type Series, type Totals } from '../overview-view.js';
import type { Site } from '../session.js';
import { useData } from '../use-data.js';
import { usePeriod } from '../use-period.js';
import { FirstStepsNote } from './first-steps-note.js';

interface Loaded {
  readonly attention: Schemas['Attention'];
  readonly totals: Totals;
  readonly before: Totals;
  readonly series: Series;
  readonly connections: readonly Connection[];
  readonly waiting: Schemas['WaitingDeliveries'];
  readonly quality: Schemas['MatchQuality'];
}

const SOURCES_SHOWN = 6;

/** What needs attention, the figures of a period with their comparison, one chart, and a row per platform. */
export function Overview({ site }: { site: Site }) {
  const { path, query } = useLocation();
  const period = usePeriod();
  const by = groupingOf(query['by']);
  const of = { site: site.host };
  const loaded = useData<Loaded>(`overview ${site.host} ${period.key}`, async () => {
    const { interval, ...span } = period.now;
    const { interval: _, ...earlier } = period.before;
    const params = { path: of };
    const inPeriod = { params: { path: of, query: span } };
    const inSteps = { path: of, query: { ...span, interval, timeZone: zoneName() } };
    const [attention, totals, before, series, connections, waiting, quality] = await Promise.all([
      dataOf(api.GET('/api/v1/sites/{site}/attention', { params })),
      dataOf(api.GET('/api/v1/sites/{site}/totals', inPeriod)),
      dataOf(api.GET('/api/v1/sites/{site}/totals', { params: { path: of, query: earlier } })),
      dataOf(api.GET('/api/v1/sites/{site}/series', { params: inSteps })),
      dataOf(api.GET('/api/v1/sites/{site}/connections', { params })),
      dataOf(api.GET('/api/v1/sites/{site}/deliveries/waiting', { params })),
      dataOf(api.GET('/api/v1/sites/{site}/match-quality', inPeriod)),
    ]);
    return { attention, totals, before, series, connections: connections.items, waiting, quality };
  });
  const sources = useData(`sources ${site.host} ${by} ${period.key}`, () => {
    const { from, to } = period.now;
    const params = { path: of, query: { from, to, by, limit: SOURCES_SHOWN } };
    return dataOf(api.GET('/api/v1/sites/{site}/sources', { params }));
  });
  return (
    <Page
      title="Overview"
      note={loaded.data && <AsOf time={loaded.data.totals.asOf.time} of={site.host} />}
      actions={<PeriodChoice period={period} />}
    >
      <Show of={loaded}>
        {({ attention, totals, before, series, connections, waiting, quality }) => (
          <>
            <Attention items={attention.items} onChanged={period.refresh} />
            <FirstStepsNote site={site} connections={connections} hasConversions={totals.conversions > 0} />
            <Figures totals={totals} before={before} days={period.days} />
            <div class="two">
              <Panel title="Conversions" note={intervalTitle(period.now, zoneName())}>
                <Chart series={series} />
              </Panel>
              <Show of={sources}>
                {(data) => (
                  <Sources
                    sources={data}
                    by={by}
                    pathOfGrouping={(other) => withQuery(path, { ...query, by: other })}
                  />
                )}
              </Show>
            </div>
            <Platforms site={site.host} series={series} connections={connections} waiting={waiting} />
            <MatchQuality quality={quality} />
          </>
        )}
      </Show>
    </Page>
  );
}
