import { useState } from 'preact/hooks';
import { useAction } from '../../hooks/use-data.js';
import type { SettingsChange } from '../../hooks/use-site-settings.js';
import { changedList, isChange, type ListChange, NO_CHANGE, withEntry } from '../../list-change.js';
import { Button } from '../basics.js';
import { SettingsPreview } from '../settings/settings-preview.js';
import { ListEditor } from './list-editor.js';

interface PreviewedListProps {
  site: string;
  /** The setting. */
  name: 'blockIps' | 'allowIps' | 'blockUserAgents' | 'blockCountries' | 'blocked';
  label: string;
  placeholder: string;
  values: readonly string[];
  isReadOnly: boolean;
  onSave(change: SettingsChange): Promise<boolean>;
}

/** A list of traffic, whose changes are saved with a button, after the preview has told their effect. */
export function PreviewedList(props: PreviewedListProps) {
  const { site, name, label, placeholder, values, isReadOnly, onSave } = props;
  const [change, setChange] = useState<ListChange>(NO_CHANGE);
  const action = useAction();
  const request = { [name]: { add: [...change.add], remove: [...change.remove] } };
  const save = () =>
    action.run(async () => {
      // What was refused stays, to be corrected.
      if (await onSave(request)) setChange(NO_CHANGE);
    });
  return (
    <>
      <ListEditor
        label={label}
        placeholder={placeholder}
        values={changedList(values, change)}
        isReadOnly={isReadOnly}
        onChange={async (entry) => {
          setChange((before) => withEntry(values, before, entry));
          return true;
        }}
      />
      {isChange(change) && (
        <div class="pad">
          <SettingsPreview site={site} about="traffic" change={request} />
          <div class="buttons">
            <Button label="Undo" name={`Undo: ${label}`} onClick={() => setChange(NO_CHANGE)} />
            <Button kind="primary" label="Save" name={`Save: ${label}`} isDisabled={action.isBusy} onClick={save} />
          </div>
        </div>
      )}
    </>
  );
}
