import { useState } from 'preact/hooks';
import { type Action, useAction } from './use-data.js';
import type { SiteSettings } from './use-site-settings.js';

export interface Edited<Name extends keyof SiteSettings> {
  /** As they would be after the change. */
  readonly rules: Pick<SiteSettings, Name>;
  /** Those that differ from what is stored. */
  readonly change: Partial<Pick<SiteSettings, Name>>;
  readonly isChanged: boolean;
  readonly action: Action;
  edit(part: Partial<Pick<SiteSettings, Name>>): void;
  undo(): void;
  save(): void;
}

/** Settings that are changed together and saved with a button, after a preview has told the effect. */
export function useEdited<Name extends keyof SiteSettings>(
  names: readonly Name[],
  settings: SiteSettings,
  onSave: (change: Partial<Pick<SiteSettings, Name>>) => Promise<boolean>,
): Edited<Name> {
  type Rules = Pick<SiteSettings, Name>;
  const [edited, setEdited] = useState<Partial<Rules>>({});
  const action = useAction();
  const rules: Rules = { ...settings, ...edited };
  const differing = names.filter((name) => rules[name] !== settings[name]);
  const change = Object.fromEntries(differing.map((name) => [name, rules[name]])) as Partial<Rules>;
  return {
    rules,
    change,
    isChanged: differing.length > 0,
    action,
    edit: (part) => setEdited((before) => ({ ...before, ...part })),
    undo: () => setEdited({}),
    save: () =>
      void action.run(async () => {
        if (await onSave(change)) setEdited({});
      }),
  };
}
