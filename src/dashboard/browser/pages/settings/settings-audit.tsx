import { api, dataOf, type Schemas } from '../../api.js';
import { Changes } from '../../components/settings/changes.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Empty } from '../../components/states.js';
import { usePages } from '../../hooks/use-pages.js';
import { mayAdminister, useSession } from '../../session.js';
import { auditSubject } from '../../views/audit-view.js';

const TITLE = { title: 'Audit', note: 'Who changed users, API tokens and OAuth apps' } as const;

/** Who changed what concerns the installation. What concerns a site is on the page Audit of the site. */
export function SettingsAudit() {
  const { user } = useSession();
  if (mayAdminister(user)) return <UserChanges />;
  return (
    <SettingsPage {...TITLE}>
      <Empty title="Only administrators see who changed users" />
    </SettingsPage>
  );
}

function UserChanges() {
  const pages = usePages<Schemas['AuditEvent']>('audit', (cursor) =>
    dataOf(api.GET('/api/v1/audit', { params: { query: cursor === undefined ? {} : { cursor } } })),
  );
  return (
    <SettingsPage {...TITLE}>
      <Changes pages={pages} subjectOf={auditSubject} />
    </SettingsPage>
  );
}
