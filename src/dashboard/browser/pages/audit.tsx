import { api, dataOf, type Schemas } from '../api.js';
import { Page } from '../components/panel.js';
import { Changes } from '../components/settings/changes.js';
import { usePages } from '../hooks/use-pages.js';
import type { Site } from '../session.js';

/** Who changed the site and its settings, newest first. */
export function Audit({ site }: { site: Site }) {
  const params = { path: { site: site.host } };
  const pages = usePages<Schemas['AuditEvent']>(`audit ${site.host}`, (cursor) =>
    dataOf(
      api.GET('/api/v1/sites/{site}/audit', { params: { ...params, query: cursor === undefined ? {} : { cursor } } }),
    ),
  );
  return (
    <Page title="Audit" note={`Who changed ${site.host} and its settings`}>
      <Changes pages={pages} />
    </Page>
  );
}
