import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { SettingsChange, SiteSettings } from '../../hooks/use-site-settings.js';
import type { PreviewTopic } from '../../views/settings-preview-view.js';
import { Button } from '../basics.js';
import { Form, fieldsOf } from '../forms/fields.js';
import { SettingsPreview } from './settings-preview.js';

interface SettingsFormProps<Name extends keyof SiteSettings> {
  site: string;
  settings: SiteSettings;
  isReadOnly: boolean;
  /** True if it was saved. */
  onSave(change: SettingsChange): Promise<boolean>;
  /** The settings that are changed together. */
  names: readonly Name[];
  about: PreviewTopic;
  children(field: ReturnType<typeof fieldsOf<Pick<SiteSettings, Name>>>): ComponentChildren;
}

/** Settings that are changed together and saved with a button, beside a preview that tells the effect. */
export function SettingsForm<Name extends keyof SiteSettings>(props: SettingsFormProps<Name>) {
  const { site, settings, isReadOnly, onSave, names, about, children } = props;
  const [edited, setEdited] = useState<Partial<SiteSettings>>({});
  const rules = { ...settings, ...edited };
  const differing = names.filter((name) => rules[name] !== settings[name]);
  const change: SettingsChange = Object.fromEntries(differing.map((name) => [name, rules[name]]));
  const isChanged = differing.length > 0;
  return (
    <div class="two even pad">
      <Form
        verb="Save"
        isReadOnly={isReadOnly}
        isReady={isChanged}
        isChanged={isChanged}
        otherButtons={<Button label="Undo" isDisabled={!isChanged} onClick={() => setEdited({})} />}
        onSubmit={async () => {
          if (await onSave(change)) setEdited({});
        }}
      >
        {children(fieldsOf<Pick<SiteSettings, Name>>(rules, (part) => setEdited((before) => ({ ...before, ...part }))))}
      </Form>
      {!isReadOnly && <SettingsPreview site={site} about={about} change={change} />}
    </div>
  );
}
