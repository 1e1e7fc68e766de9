import { useLocation } from 'preact-iso';
import type { Schemas } from '../api.js';
import { zoneName } from '../format.js';
import type { Loaded } from '../hooks/use-data.js';
import { withQuery } from '../navigation.js';
import { groupingOf, intervalTitle, type Period, type Series } from '../views/overview-view.js';
import { Chart } from './chart.js';
import { Panel } from './panel.js';
import { Sources } from './sources.js';
import { Show } from './states.js';

interface OverTimeProps {
  series: Series;
  period: Period;
  sources: Loaded<Schemas['Sources']>;
}

/** Conversions over time, beside where they came from, grouped as the address says. */
export function OverTime({ series, period, sources }: OverTimeProps) {
  const { path, query } = useLocation();
  return (
    <div class="two level">
      <Panel title="Conversions" note={intervalTitle(period, zoneName())}>
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
  );
}
