import { CheckField, SelectField } from '../components/forms/field.js';
import { SaveButtons } from '../components/forms/save-buttons.js';
import { Page, Panel } from '../components/panel.js';
import { SettingsPreview } from '../components/settings/settings-preview.js';
import { Show } from '../components/states.js';
import { useEdited } from '../hooks/use-edited.js';
import { type SiteSettings, useSiteSettings } from '../hooks/use-site-settings.js';
import type { Site } from '../session.js';

/** What happens without a visitor's consent. */
export function Consent({ site }: { site: Site }) {
  const { loaded, change, isReadOnly } = useSiteSettings(site.host);
  return (
    <Page title="Consent" note={`What is sent when a visitor of ${site.host} has not agreed`}>
      <Show of={loaded}>
        {(settings) => (
          <Panel title="Consent" note="Changes apply to conversions received from now on">
            <ConsentForm site={site.host} settings={settings} isReadOnly={isReadOnly} onSave={change} />
          </Panel>
        )}
      </Show>
    </Page>
  );
}

const RULES = ['consentRequired', 'withhold'] as const;

interface ConsentFormProps {
  site: string;
  settings: SiteSettings;
  isReadOnly: boolean;
  onSave(change: Partial<Pick<SiteSettings, (typeof RULES)[number]>>): Promise<boolean>;
}

function ConsentForm({ site, settings, isReadOnly, onSave }: ConsentFormProps) {
  const { rules, change, isChanged, action, edit, undo, save } = useEdited(RULES, settings, onSave);
  return (
    <div class="two even pad">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <CheckField
          label="Consent is required"
          help="A person who has stated no consent counts as having refused it."
          checked={rules.consentRequired}
          disabled={isReadOnly}
          onValue={(consentRequired) => edit({ consentRequired })}
        />
        <SelectField
          label="When consent is refused"
          help="Conversions are received, counted and pushed in any case."
          value={rules.withhold}
          disabled={isReadOnly}
          options={[
            ['identifiers', 'Send the conversion without identifiers'],
            ['everything', 'Do not send the conversion'],
          ]}
          onValue={(value) => edit({ withhold: value as SiteSettings['withhold'] })}
        />
        {!isReadOnly && <SaveButtons isChanged={isChanged} isBusy={action.isBusy} onUndo={undo} />}
      </form>
      {!isReadOnly && <SettingsPreview site={site} about="consent" change={change} />}
    </div>
  );
}
