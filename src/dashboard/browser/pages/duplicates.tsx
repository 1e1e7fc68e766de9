import { useState } from 'preact/hooks';
import { TextField } from '../components/forms/field.js';
import { Page, Panel } from '../components/panel.js';
import { SettingsPreview } from '../components/settings/settings-preview.js';
import { Show } from '../components/states.js';
import { type SiteSettings, useSiteSettings } from '../hooks/use-site-settings.js';
import type { Site } from '../session.js';

/** How long a repeated conversion is a duplicate. */
export function Duplicates({ site }: { site: Site }) {
  const { loaded, change, isReadOnly } = useSiteSettings(site.host);
  return (
    <Page title="Duplicates" note="The same order, sent again, is counted once">
      <Show of={loaded}>
        {(settings) => (
          <Panel title="Deduplication window">
            <WindowForm
              key={settings.dedupWindow}
              site={site.host}
              settings={settings}
              isReadOnly={isReadOnly}
              onSave={(dedupWindow) => void change({ dedupWindow })}
            />
          </Panel>
        )}
      </Show>
    </Page>
  );
}

interface WindowFormProps {
  site: string;
  settings: SiteSettings;
  isReadOnly: boolean;
  onSave(window: string | null): void;
}

function WindowForm({ site, settings, isReadOnly, onSave }: WindowFormProps) {
  const [text, setText] = useState(settings.dedupWindow);
  const wanted = text.trim();
  const isChanged = wanted !== '' && wanted !== settings.dedupWindow;
  return (
    <div class="two even pad">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSave(wanted);
        }}
      >
        <TextField
          label="Window"
          required
          readOnly={isReadOnly}
          value={text}
          onValue={setText}
          help="For example 30m, 24h or 7d. A conversion with the same order and event within this time is a duplicate: it is answered with “deduped”, kept in the log, and neither counted nor sent."
        />
        {!isReadOnly && (
          <div class="buttons">
            <button type="button" onClick={() => onSave(null)}>
              Use the default
            </button>
            <button type="submit" class="primary">
              Save
            </button>
          </div>
        )}
      </form>
      {!isReadOnly && (
        <SettingsPreview site={site} about="duplicates" change={isChanged ? { dedupWindow: wanted } : {}} />
      )}
    </div>
  );
}
