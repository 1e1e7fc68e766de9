import { api } from '../api.js';
import { Show } from '../components/frame.js';
import { MatchQuality } from '../components/match-quality.js';
import { PeriodPage } from '../components/period-page.js';
import { Platforms } from '../components/platforms.js';
import { useData } from '../hooks/use-data.js';
import { usePeriod } from '../hooks/use-period.js';
import { type Site, useSession } from '../session.js';
import { FirstStepsNote } from './first-steps-note.js';

/** What needs attention, the figures of a period with their comparison, one chart, and a row per platform. */
export function Overview({ site }: { site: Site }) {
  const { sites } = useSession();
  const period = usePeriod();
  const { days, now, openedMs } = period;
  const path = { site: site.host };
  const platforms = useData(
    `platforms ${site.host}`,
    async () => {
      const [connections, waiting] = await Promise.all([
        api.GET('/api/v1/sites/{site}/connections', { path }),
        api.GET('/api/v1/sites/{site}/deliveries/waiting', { path }),
      ]);
      return { connections: connections.items, waiting };
    },
    openedMs,
  );
  const quality = useData(
    `quality ${site.host} ${days}`,
    () => api.GET('/api/v1/sites/{site}/match-quality', { path, query: { from: now.from, to: now.to } }),
    openedMs,
  );
  return (
    <PeriodPage
      title="Overview"
      site={site.host}
      period={period}
      read={{
        // A user who sees a single site has no other page that tells about the service and their tokens.
        attention: () =>
          sites.length === 1 ? api.GET('/api/v1/attention') : api.GET('/api/v1/sites/{site}/attention', { path }),
        totals: (query) => api.GET('/api/v1/sites/{site}/totals', { path, query }),
        series: (query) => api.GET('/api/v1/sites/{site}/series', { path, query }),
        sources: (query) => api.GET('/api/v1/sites/{site}/sources', { path, query }),
      }}
      sum={(totals) => totals}
      intro={({ conversions }) =>
        platforms.data && (
          <FirstStepsNote site={site} connections={platforms.data.connections} hasConversions={conversions > 0} />
        )
      }
      end={<Show of={quality}>{(data) => <MatchQuality quality={data} />}</Show>}
    >
      {(_, series) => <Show of={platforms}>{(data) => <Platforms site={site.host} series={series} {...data} />}</Show>}
    </PeriodPage>
  );
}
