import { CheckField, SelectField } from '../components/field.js';
import { Page, Panel } from '../components/panel.js';
import { Show } from '../components/states.js';
import type { Site } from '../session.js';
import { useSiteSettings } from '../use-site-settings.js';

/** What happens without a visitor's consent. */
export function Consent({ site }: { site: Site }) {
  const { loaded, change, isReadOnly } = useSiteSettings(site.host);
  return (
    <Page title="Consent" note={`What is sent when a visitor of ${site.host} has not agreed`}>
      <Show of={loaded}>
        {({ consentRequired, withhold }) => (
          <Panel title="Consent" note="Changes apply to conversions received from now on">
            <div class="pad form">
              <CheckField
                label="Consent is required"
                help="Without a stated consent, a conversion counts as refused."
                checked={consentRequired}
                disabled={isReadOnly}
                onValue={(required) => void change({ consentRequired: required })}
              />
              <SelectField
                label="When consent is refused"
                help="Conversions are received, counted and pushed in any case."
                value={withhold}
                disabled={isReadOnly}
                options={[
                  ['identifiers', 'Send the conversion without identifiers'],
                  ['everything', 'Do not send the conversion'],
                ]}
                onValue={(value) => void change({ withhold: value as 'identifiers' | 'everything' })}
              />
            </div>
          </Panel>
        )}
      </Show>
    </Page>
  );
}
