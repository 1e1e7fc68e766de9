import { Page } from '../components/frame.js';
import { Changes } from '../components/settings/changes.js';
import { useList } from '../hooks/use-pages.js';
import type { Site } from '../session.js';

/** Who changed the site and its settings, newest first. */
export function Audit({ site: { host } }: { site: Site }) {
  const pages = useList('/api/v1/sites/{site}/audit', { path: { site: host } });
  return (
    <Page title="Audit" note={`Who changed ${host} and its settings`}>
      <Changes pages={pages} />
    </Page>
  );
}
