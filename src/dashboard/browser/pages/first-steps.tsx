import { api, dataOf } from '../api.js';
import { Badge } from '../components/badge.js';
import type { Connection } from '../connection-view.js';
import { pathOf } from '../navigation.js';
import { mayWrite, type Site, useSession } from '../session.js';
import { useData } from '../use-data.js';

interface FirstStepsProps {
  site: Site;
  connections: readonly Connection[];
  hasConversions: boolean;
}

/** What is left to do for a new site. Nothing once it has conversions and a platform. */
export function FirstSteps({ site, connections, hasConversions }: FirstStepsProps) {
  const { user } = useSession();
  const params = { path: { site: site.host } };
  const isConnected = connections.some(({ connected }) => connected);
  const keys = useData(`keys ${site.host}`, () => dataOf(api.GET('/api/v1/sites/{site}/keys', { params })));
  if ((hasConversions && isConnected) || !mayWrite(user) || !keys.data) return null;
  const hasKey = keys.data.items.some(({ status }) => status === 'active');
  const steps = [
    [hasKey, 'Create a key', 'for the system that reports conversions', 'keys'],
    [hasConversions, 'Send a conversion', 'paste the line that the key comes with, and watch it arrive', 'live'],
    [false, 'Add the tag', 'it links conversions to ad clicks', 'tag'],
    [isConnected, 'Connect a platform', 'where conversions are delivered', 'integrations'],
    [false, 'Set the webhook', 'which receives the totals', 'webhook'],
  ] as const;
  return (
    <section class="panel" aria-label="First steps">
      <ol class="steps">
        {steps.map(([isDone, title, text, page]) => (
          <li key={page}>
            <div>
              <strong>{title}</strong> <span class="dim">{text}</span>
            </div>
            {isDone ? (
              <Badge tone="ok">done</Badge>
            ) : (
              <a class="button" href={pathOf(site.host, page)}>
                Open <span class="hidden">{title}</span>
              </a>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
