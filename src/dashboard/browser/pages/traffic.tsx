import { CheckField, Field, SelectField } from '../components/forms/fields.js';
import { PreviewedList } from '../components/forms/previewed-list.js';
import { Page, Panel, Show } from '../components/frame.js';
import { SettingsForm } from '../components/settings/settings-form.js';
import { useSiteSettings } from '../hooks/use-site-settings.js';
import type { Site } from '../session.js';

const LISTS = [
  ['blockIps', 'Blocked networks', 'Blocked address or range', '203.0.113.0/24'],
  ['allowIps', 'Networks that are never filtered', 'Allowed address or range', '198.51.100.7'],
  ['blockUserAgents', 'Blocked user agents', 'Part of the user agent', 'HeadlessChrome'],
  ['blockCountries', 'Blocked countries', 'Country code', 'US'],
  ['blocked', 'Blocked customers', 'Address, its SHA-256 or @domain', '@example.com'],
] as const;

/** Which visits and leads count as bots, and what happens to them. */
export function Traffic({ site: { host } }: { site: Site }) {
  const { loaded, change, isReadOnly } = useSiteSettings(host);
  return (
    <Page title="Traffic filters" note={`What of ${host} counts as bots`}>
      <Show of={loaded}>
        {(settings) => (
          <>
            <Panel title="Bots" note="Every visit has a score from 0 to 100">
              <SettingsForm
                site={host}
                settings={settings}
                isReadOnly={isReadOnly}
                names={['botThreshold', 'botMode', 'botFilter', 'blockDisposable']}
                about="traffic"
                onSave={change}
              >
                {(field) => (
                  <>
                    <Threshold {...field('botThreshold')} isDisabled={isReadOnly} />
                    <SelectField
                      {...field('botMode')}
                      label="Mode"
                      options={[
                        ['observe', 'Observe: judge and count, remove nothing'],
                        ['enforce', 'Enforce: remove bots'],
                      ]}
                    />
                    <SelectField
                      {...field('botFilter')}
                      label="Conversions of bots"
                      options={[
                        ['leads', 'Remove those without an order ID'],
                        ['all', 'Remove all'],
                        ['none', 'Keep all'],
                      ]}
                    />
                    <CheckField {...field('blockDisposable')} label="Block disposable email addresses" />
                  </>
                )}
              </SettingsForm>
            </Panel>
            <div class="columns">
              {LISTS.map(([name, title, label, placeholder]) => (
                <Panel key={name} title={title}>
                  <PreviewedList
                    site={host}
                    name={name}
                    label={label}
                    placeholder={placeholder}
                    values={settings[name]}
                    isReadOnly={isReadOnly}
                    onSave={change}
                  />
                </Panel>
              ))}
            </div>
          </>
        )}
      </Show>
    </Page>
  );
}

interface ThresholdProps {
  value: number;
  isDisabled: boolean;
  onValue(value: number): void;
}

function Threshold({ value, isDisabled, onValue }: ThresholdProps) {
  return (
    <Field label="Threshold" help={`A visit with a score of ${value} or more is a bot.`}>
      {(control) => (
        <div class="slider">
          <input
            {...control}
            type="range"
            min={0}
            max={100}
            value={value}
            disabled={isDisabled}
            onInput={(event) => onValue(event.currentTarget.valueAsNumber)}
          />
          <output for={control.id}>{value}</output>
        </div>
      )}
    </Field>
  );
}
