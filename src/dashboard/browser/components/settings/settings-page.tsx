import type { ComponentChildren } from 'preact';
import { settingsOf, useSession } from '../../session.js';
import { Page } from '../panel.js';

interface SettingsPageProps {
  title: string;
  note: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** A page of the settings of the whole installation, with links to the others. */
export function SettingsPage({ title, note, actions, children }: SettingsPageProps) {
  const { user } = useSession();
  const links = settingsOf(user);
  return (
    <Page title={title} note={note} actions={actions}>
      <nav class="tabs" aria-label="Settings">
        {links.map(({ path, title: name }) => (
          <a key={path} href={path} aria-current={name === title ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {children}
    </Page>
  );
}
