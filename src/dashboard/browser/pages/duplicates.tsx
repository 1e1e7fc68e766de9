import { useState } from 'preact/hooks';
import { Button } from '../components/basics.js';
import { Form, TextField } from '../components/forms/fields.js';
import { Page, Panel, Show } from '../components/frame.js';
import { SettingsPreview } from '../components/settings/settings-preview.js';
import { useSiteSettings } from '../hooks/use-site-settings.js';
import type { Site } from '../session.js';

/** How long a repeated conversion is a duplicate. */
export function Duplicates({ site: { host } }: { site: Site }) {
  const { loaded, change, isReadOnly } = useSiteSettings(host);
  return (
    <Page title="Duplicates" note="The same order, sent again, is counted once">
      <Show of={loaded}>
        {({ dedupWindow }) => (
          <Panel title="Deduplication window">
            <WindowForm
              key={dedupWindow}
              site={host}
              stored={dedupWindow}
              isReadOnly={isReadOnly}
              onSave={(wanted) => change({ dedupWindow: wanted })}
            />
          </Panel>
        )}
      </Show>
    </Page>
  );
}

interface WindowFormProps {
  site: string;
  stored: string;
  isReadOnly: boolean;
  onSave(window: string | null): Promise<unknown>;
}

function WindowForm({ site, stored, isReadOnly, onSave }: WindowFormProps) {
  const [text, setText] = useState(stored);
  const wanted = text.trim();
  const isChanged = wanted !== '' && wanted !== stored;
  return (
    <div class="two even pad">
      <Form
        verb="Save"
        isReadOnly={isReadOnly}
        otherButtons={<Button label="Use the default" onClick={() => onSave(null)} />}
        onSubmit={() => onSave(wanted)}
      >
        <TextField
          label="Window"
          required
          value={text}
          onValue={setText}
          help="For example 30m, 24h or 7d. A conversion with the same order and event within this time is a duplicate: it is answered with “deduped”, kept in the log, and neither counted nor sent."
        />
      </Form>
      {!isReadOnly && (
        <SettingsPreview site={site} about="duplicates" change={isChanged ? { dedupWindow: wanted } : {}} />
      )}
    </div>
  );
}
