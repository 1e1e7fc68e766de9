import { useState } from 'preact/hooks';
import { CheckField, Field, SelectField } from '../components/field.js';
import { ListEditor } from '../components/list-editor.js';
import { Page, Panel } from '../components/panel.js';
import { Show } from '../components/states.js';
import type { Site } from '../session.js';
import { type SiteSettings, useSiteSettings } from '../use-site-settings.js';

const LISTS = [
  ['blockIps', 'Blocked networks', 'Address or range', '203.0.113.0/24'],
  ['allowIps', 'Networks that are never filtered', 'Address or range', '198.51.100.7'],
  ['blockUserAgents', 'Blocked user agents', 'Part of the user agent', 'HeadlessChrome'],
  ['blockCountries', 'Blocked countries', 'Country code', 'US'],
  ['blocked', 'Blocked customers', 'Address, its SHA-256 or @domain', '@example.com'],
] as const;

/** Which visits and leads count as bots, and what happens to them. */
export function Traffic({ site }: { site: Site }) {
  const { loaded, change, isReadOnly } = useSiteSettings(site.host);
  return (
    <Page title="Traffic filters" note={`What of ${site.host} counts as bots`}>
      <Show of={loaded}>
        {(settings) => (
          <>
            <Panel title="Bots" note="Every visit has a score from 0 to 100">
              <div class="pad form">
                <Threshold
                  key={settings.botThreshold}
                  value={settings.botThreshold}
                  isReadOnly={isReadOnly}
                  onSave={(botThreshold) => void change({ botThreshold })}
                />
                <SelectField
                  label="Mode"
                  value={settings.botMode}
                  disabled={isReadOnly}
                  options={[
                    ['observe', 'Observe: judge and count, remove nothing'],
                    ['enforce', 'Enforce: remove bots'],
                  ]}
                  onValue={(value) => void change({ botMode: value as SiteSettings['botMode'] })}
                />
                <SelectField
                  label="Conversions of bots"
                  value={settings.botFilter}
                  disabled={isReadOnly}
                  options={[
                    ['leads', 'Remove leads, keep purchases'],
                    ['all', 'Remove all'],
                    ['none', 'Keep all'],
                  ]}
                  onValue={(value) => void change({ botFilter: value as SiteSettings['botFilter'] })}
                />
                <CheckField
                  label="Block disposable email addresses"
                  checked={settings.blockDisposable}
                  disabled={isReadOnly}
                  onValue={(blockDisposable) => void change({ blockDisposable })}
                />
              </div>
            </Panel>
            <div class="columns">
              {LISTS.map(([name, title, label, placeholder]) => (
                <Panel key={name} title={title}>
                  <ListEditor
                    label={label}
                    placeholder={placeholder}
                    values={settings[name]}
                    isReadOnly={isReadOnly}
                    onChange={(changes) => change({ [name]: changes })}
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
  isReadOnly: boolean;
  onSave(value: number): void;
}

/** Saved when the slider is released. */
function Threshold({ value, isReadOnly, onSave }: ThresholdProps) {
  const [shown, setShown] = useState(value);
  return (
    <Field label="Threshold" help={`A visit with a score of ${shown} or more is a bot.`}>
      {(control) => (
        <div class="slider">
          <input
            {...control}
            type="range"
            min={0}
            max={100}
            value={shown}
            disabled={isReadOnly}
            onInput={(event) => setShown(event.currentTarget.valueAsNumber)}
            onChange={(event) => onSave(event.currentTarget.valueAsNumber)}
          />
          <output for={control.id}>{shown}</output>
        </div>
      )}
    </Field>
  );
}
