import type { ComponentChildren } from 'preact';
import { type SettingsPath, settingsOf, settingsPage, useSession } from '../../session.js';
import { Page } from '../frame.js';

interface SettingsPageProps {
  path: SettingsPath;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** A page of the settings of the whole installation, with links to the others. */
export function SettingsPage({ path, actions, children }: SettingsPageProps) {
  const { user } = useSession();
  const { title, note } = settingsPage(path);
  return (
    <Page title={title} note={note} actions={actions}>
      <nav class="tabs" aria-label="Settings">
        {settingsOf(user).map((page) => (
          <a key={page.path} href={page.path} aria-current={page.path === path ? 'page' : undefined}>
            {page.title}
          </a>
        ))}
      </nav>
      {children}
    </Page>
  );
}
