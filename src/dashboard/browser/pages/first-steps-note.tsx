import { useSiteProgress } from '../hooks/use-site-progress.js';
import { pathOf } from '../navigation.js';
import { mayOperateAll, type Site, useSession } from '../session.js';
import type { Connection } from '../views/connection-view.js';
import { firstSteps, nextStep, progressText } from '../views/first-steps-view.js';

interface FirstStepsNoteProps {
  site: Site;
  connections: readonly Connection[];
  hasConversions: boolean;
}

/** On the overview of a site that does not deliver conversions yet: what comes next. */
export function FirstStepsNote({ site, connections, hasConversions }: FirstStepsNoteProps) {
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
