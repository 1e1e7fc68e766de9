import { api } from '../api.js';
import { Show } from '../components/frame.js';
import { MatchQuality } from '../components/match-quality.js';
import { PeriodPage } from '../components/period-page.js';
import { Platforms } from '../components/platforms.js';
import { UnusedFields } from '../components/unused-fields.js';
import { useConnections } from '../hooks/use-connections.js';
import { useData } from '../hooks/use-data.js';
import { useLive } from '../hooks/use-live.js';
import { usePeriod } from '../hooks/use-period.js';
import { useSiteProgress } from '../hooks/use-site-progress.js';
import { pathOf } from '../navigation.js';
import { mayOperateAll, type Site, useSession } from '../session.js';
import { CHANGING } from '../stream/changing-types.js';
import type { Connection } from '../views/connection-view.js';
import { firstSteps, nextStep, progressText } from '../views/first-steps-view.js';

/** What needs attention, the figures of a period with their comparison, one chart, and a row per platform. */
export function Overview({ site }: { site: Site }) {
  const period = usePeriod();
  const { days, version } = period;
  const path = { site: site.host };
  const platforms = useConnections(site.host, version);
  const spanNow = () => {
    const { from, to } = period.spans().now;
    return { from, to };
  };
  const quality = useData(
    `quality ${site.host} ${days}`,
    () => api.GET('/api/v1/sites/{site}/match-quality', { path, query: spanNow() }),
    version,
  );
  const unused = useData(
    `unused fields ${site.host} ${days}`,
    () => api.GET('/api/v1/sites/{site}/unused-fields', { path, query: spanNow() }),
    version,
  );
  useLive(site.host, CHANGING.sources, quality, ({ asOf }) => asOf.position);
  useLive(site.host, CHANGING.unusedFields, unused, ({ asOf }) => asOf.position);
  return (
    <PeriodPage
      title="Overview"
      site={site.host}
      period={period}
      read={{
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
      end={
        <>
          <Show of={quality}>{(data) => <MatchQuality quality={data} />}</Show>
          <Show of={unused}>{(data) => <UnusedFields fields={data} />}</Show>
        </>
      }
    >
      {(_, series) => <Show of={platforms}>{(data) => <Platforms site={site.host} series={series} {...data} />}</Show>}
    </PeriodPage>
  );
}

interface FirstStepsNoteProps {
  site: Site;
  connections: readonly Connection[];
  hasConversions: boolean;
}

/** On the overview of a site that does not deliver conversions yet: what comes next. */
function FirstStepsNote({ site, connections, hasConversions }: FirstStepsNoteProps) {
  const { isWriter } = useSession();
  const isDelivering = hasConversions && connections.some(({ connected }) => connected);
  return isDelivering || !isWriter ? null : <Note site={site} />;
}

function Note({ site }: { site: Site }) {
  const { sites, user } = useSession();
  const { data } = useSiteProgress(site.host);
  const steps = data && firstSteps(data);
  const next = steps && nextStep(steps);
  // A site that once had conversions is quiet, not new.
  if (!steps || !next || (data.hasConversion && data.isConnected)) return null;
  return (
    <section class="panel first-steps-note" aria-label="First steps">
      <div>
        <strong>First steps</strong> <span class="dim">{progressText(steps)}</span>
        <p class="dim">
          Next: {next.title.toLowerCase()}, {next.text}
        </p>
      </div>
      <div class="actions">
        {sites.length === 1 && site.host === 'localhost' && mayOperateAll(user) && (
          <a class="button" href="/sites/new">
            Add your own site
          </a>
        )}
        <a class="button primary" href={pathOf(site.host, 'first-steps')}>
          Continue
        </a>
      </div>
    </section>
  );
}
