import type { Schemas } from '../api.js';
import { CheckField, SelectField } from '../components/forms/fields.js';
import { Page, Panel, Show } from '../components/frame.js';
import { SettingsForm } from '../components/settings/settings-form.js';
import { type Column, Table } from '../components/table.js';
import { connectionTitle } from '../format.js';
import { useGet } from '../hooks/use-data.js';
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
                    help="Conversions are received, counted and pushed in any case. In the EEA, the United Kingdom and Switzerland withhold everything about the person."
                    options={[
                      ['identifiers', 'Withhold what is stored about visits'],
                      ['personal', 'Withhold everything about the person'],
                      ['everything', 'Do not send the conversion'],
                    ]}
                  />
                </>
              )}
            </SettingsForm>
          </Panel>
        )}
      </Show>
      <Leaving />
    </Page>
  );
}

type Choices = Schemas['Platform']['withoutConsent'][number] & { platform: string };

const CHOICES: readonly Column<Choices>[] = [
  {
    title: 'Platform',
    cell: ({ platform, setting }) => (
      <>
        {connectionTitle(platform)}
        {setting !== undefined && <code> {setting}</code>}
      </>
    ),
  },
  { title: 'What is stored about visits', kind: 'text', cell: ({ identifiers }) => identifiers },
  { title: 'Everything about the person', kind: 'text', cell: ({ personal }) => personal },
  { title: 'The conversion', kind: 'text', cell: ({ everything }) => everything },
];

/** What each platform gets without consent, by what the site withholds. */
function Leaving() {
  const loaded = useGet('/api/v1/platforms');
  return (
    <Panel
      title="What leaves without consent"
      note="By what is withheld. Flagged: the platform is told that consent is denied. Its flag for limited data use is made for states of the US, and does not replace consent."
    >
      <Show of={loaded}>
        {({ items }) => (
          <Table
            label="What leaves without consent"
            columns={CHOICES}
            rows={items.flatMap(({ platform, withoutConsent }) =>
              withoutConsent.map((each) => ({ platform, ...each })),
            )}
            rowKey={({ platform, setting }) => `${platform} ${setting}`}
          />
        )}
      </Show>
    </Panel>
  );
}
