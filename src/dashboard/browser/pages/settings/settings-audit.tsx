import { Changes } from '../../components/settings/changes.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { useList } from '../../hooks/use-pages.js';
import { auditSubject } from '../../views/audit-view.js';

/** Who changed what concerns the installation. What concerns a site is on the page Audit of the site. */
export function SettingsAudit() {
  return (
    <SettingsPage path="/settings/audit">
      <Changes pages={useList('/api/v1/audit', {})} subjectOf={auditSubject} />
    </SettingsPage>
  );
}
