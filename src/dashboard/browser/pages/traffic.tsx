import { CheckField, Field, SelectField } from '../components/forms/field.js';
import { PreviewedList } from '../components/forms/previewed-list.js';
import { SaveButtons } from '../components/forms/save-buttons.js';
import { Page, Panel } from '../components/panel.js';
import { SettingsPreview } from '../components/settings/settings-preview.js';
import { Show } from '../components/states.js';
import { useEdited } from '../hooks/use-edited.js';
import { type SiteSettings, useSiteSettings } from '../hooks/use-site-settings.js';
import type { Site } from '../session.js';

const LISTS = [
  ['blockIps', 'Blocked networks', 'Blocked address or range', '203.0.113.0/24'],
  ['allowIps', 'Networks that are never filtered', 'Allowed address or range', '198.51.100.7'],
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
            <Bots site={site.host} settings={settings} isReadOnly={isReadOnly} onSave={change} />
            <div class="columns">
              {LISTS.map(([name, title, label, placeholder]) => (
                <Panel key={name} title={title}>
                  <PreviewedList
                    site={site.host}
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

const RULES = ['botThreshold', 'botMode', 'botFilter', 'blockDisposable'] as const;
type Rules = Pick<SiteSettings, (typeof RULES)[number]>;

interface BotsProps {
  site: string;
  settings: SiteSettings;
  isReadOnly: boolean;
  onSave(change: Partial<Rules>): Promise<boolean>;
}

/** Changed together and saved with a button, after the preview has told the effect. */
function Bots({ site, settings, isReadOnly, onSave }: BotsProps) {
  const { rules, change, isChanged, action, edit, undo, save } = useEdited(RULES, settings, onSave);
  return (
    <Panel title="Bots" note="Every visit has a score from 0 to 100">
      <div class="two even pad">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <Threshold
            value={rules.botThreshold}
            isReadOnly={isReadOnly}
            onValue={(botThreshold) => edit({ botThreshold })}
          />
          <SelectField
            label="Mode"
            value={rules.botMode}
            disabled={isReadOnly}
            options={[
              ['observe', 'Observe: judge and count, remove nothing'],
              ['enforce', 'Enforce: remove bots'],
            ]}
            onValue={(value) => edit({ botMode: value as Rules['botMode'] })}
          />
          <SelectField
            label="Conversions of bots"
            value={rules.botFilter}
            disabled={isReadOnly}
            options={[
              ['leads', 'Remove those without an order ID'],
              ['all', 'Remove all'],
              ['none', 'Keep all'],
            ]}
            onValue={(value) => edit({ botFilter: value as Rules['botFilter'] })}
          />
          <CheckField
            label="Block disposable email addresses"
            checked={rules.blockDisposable}
            disabled={isReadOnly}
            onValue={(blockDisposable) => edit({ blockDisposable })}
          />
          {!isReadOnly && <SaveButtons isChanged={isChanged} isBusy={action.isBusy} onUndo={undo} />}
        </form>
        {!isReadOnly && <SettingsPreview site={site} about="traffic" change={change} />}
      </div>
    </Panel>
  );
}

interface ThresholdProps {
  value: number;
  isReadOnly: boolean;
  onValue(value: number): void;
}

function Threshold({ value, isReadOnly, onValue }: ThresholdProps) {
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
            disabled={isReadOnly}
            onInput={(event) => onValue(event.currentTarget.valueAsNumber)}
          />
          <output for={control.id}>{value}</output>
        </div>
      )}
    </Field>
  );
}
