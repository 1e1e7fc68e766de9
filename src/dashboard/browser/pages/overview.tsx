import { useLocation } from 'preact-iso';
import { api, dataOf } from '../api.js';
import { Attention } from '../components/attention.js';
import { Figures } from '../components/figures.js';
import { PeriodChoice } from '../components/forms/period-choice.js';
import { MatchQuality } from '../components/match-quality.js';
import { OverTime } from '../components/over-time.js';
import { Page } from '../components/panel.js';
import { Platforms } from '../components/platforms.js';
import { SOURCES_SHOWN } from '../components/sources.js';
import { Loading, ProblemNote, Show } from '../components/states.js';
import { AsOf } from '../components/time.js';
import { zoneName } from '../format.js';
import { areSettled, useData } from '../hooks/use-data.js';
import { type ChosenPeriod, usePeriod } from '../hooks/use-period.js';
import { type Site, useSession } from '../session.js';
import { groupingOf } from '../views/overview-view.js';
import { FirstStepsNote } from './first-steps-note.js';

/** What needs attention, the figures of a period with their comparison, one chart, and a row per platform. */
export function Overview({ site }: { site: Site }) {
  const period = usePeriod();
  const { attention, figures, platforms, quality, sources } = useOverview(site.host, period);
  // The parts below them load on their own.
  const isShown = areSettled(attention, figures);
  return (
    <Page
      title="Overview"
      note={figures.data && <AsOf time={figures.data.totals.asOf.time} of={site.host} />}
      actions={<PeriodChoice period={period} />}
    >
      {!isShown && <Loading />}
      {isShown && (
        <>
          <ProblemNote problem={attention.problem} retry={attention.reload} />
          {attention.data && <Attention items={attention.data.items} onChanged={period.refresh} />}
          <Show of={figures}>
            {({ totals, before, series }) => (
              <>
                {platforms.data && (
                  <FirstStepsNote
                    site={site}
                    connections={platforms.data.connections}
                    hasConversions={totals.conversions > 0}
                  />
                )}
                <Figures totals={totals} before={before} days={period.days} />
                <OverTime series={series} period={period.now} sources={sources} />
                <Show of={platforms}>{(data) => <Platforms site={site.host} series={series} {...data} />}</Show>
              </>
            )}
          </Show>
          <Show of={quality}>{(data) => <MatchQuality quality={data} />}</Show>
        </>
      )}
    </Page>
  );
}

/** Each part on its own, so that one that fails leaves the others. */
function useOverview(site: string, { days, now, before, openedMs }: ChosenPeriod) {
  const { query } = useLocation();
  const { sites } = useSession();
  const by = groupingOf(query['by']);
  const path = { site };
  const { interval, ...span } = now;
  const { interval: _, ...earlier } = before;
  const attention = useData(
    `attention ${site}`,
    // Who sees a single site has no other page that tells about the service and their tokens.
    () =>
      sites.length === 1
        ? dataOf(api.GET('/api/v1/attention'))
        : dataOf(api.GET('/api/v1/sites/{site}/attention', { params: { path } })),
    openedMs,
  );
  const figures = useData(
    `figures ${site} ${days}`,
    async () => {
      const inSteps = { path, query: { ...span, interval, timeZone: zoneName() } };
      const [totals, before, series] = await Promise.all([
        dataOf(api.GET('/api/v1/sites/{site}/totals', { params: { path, query: span } })),
        dataOf(api.GET('/api/v1/sites/{site}/totals', { params: { path, query: earlier } })),
        dataOf(api.GET('/api/v1/sites/{site}/series', { params: inSteps })),
      ]);
      return { totals, before, series };
    },
    openedMs,
  );
  const platforms = useData(
    `platforms ${site}`,
    async () => {
      const [connections, waiting] = await Promise.all([
        dataOf(api.GET('/api/v1/sites/{site}/connections', { params: { path } })),
        dataOf(api.GET('/api/v1/sites/{site}/deliveries/waiting', { params: { path } })),
      ]);
      return { connections: connections.items, waiting };
    },
    openedMs,
  );
  const quality = useData(
    `quality ${site} ${days}`,
    () => dataOf(api.GET('/api/v1/sites/{site}/match-quality', { params: { path, query: span } })),
    openedMs,
  );
  const sources = useData(
    `sources ${site} ${by} ${days}`,
    () => {
      const params = { path, query: { ...span, by, limit: SOURCES_SHOWN } };
      return dataOf(api.GET('/api/v1/sites/{site}/sources', { params }));
    },
    openedMs,
  );
  return { attention, figures, platforms, quality, sources };
}
