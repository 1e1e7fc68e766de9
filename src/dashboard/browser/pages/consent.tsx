import { CheckField, SelectField } from '../components/forms/fields.js';
import { Page, Panel, Show } from '../components/frame.js';
import { SettingsForm } from '../components/settings/settings-form.js';
import { useSiteSettings } from '../hooks/use-site-settings.js';
import type { Site } from '../session.js';

/** What happens without a visitor's consent. */
export function Consent({ site: { host } }: { site: Site }) {
  const { loaded, change, isReadOnly } = useSiteSettings(host);
  return (
    <Page title="Consent" note={`What is sent when a visitor of ${host} has not agreed`}>
      <Show of={loaded}>
        {(settings) => (
          <Panel title="Consent" note="Changes apply to conversions received from now on">
            <SettingsForm
              site={host}
              settings={settings}
              isReadOnly={isReadOnly}
              names={['consentRequired', 'withhold']}
              about="consent"
              onSave={change}
            >
              {(field) => (
                <>
                  <CheckField
                    {...field('consentRequired')}
                    label="Consent is required"
                    help="A person who has stated no consent counts as having refused it."
                  />
                  <SelectField
                    {...field('withhold')}
                    label="When consent is refused"
                    help="Conversions are received, counted and pushed in any case."
                    options={[
                      ['identifiers', 'Send the conversion without identifiers'],
                      ['everything', 'Do not send the conversion'],
                    ]}
                  />
                </>
              )}
            </SettingsForm>
          </Panel>
        )}
      </Show>
    </Page>
  );
}
