import { useId, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { findDestinations } from '../../navigation.js';
import { mayOperateAll, settingsOf, useSession } from '../../session.js';
import { Dialog } from './dialog.js';

/** Goes to a page or a site by its name. */
export function Search({ site, onClose }: { site: string | undefined; onClose: () => void }) {
  const { sites, user } = useSession();
  const { route } = useLocation();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const found = findDestinations(text, {
    site,
    sites: sites.map(({ host }) => host),
    settings: settingsOf(user),
    mayAddSites: mayOperateAll(user),
  });
  const open = (path: string) => {
    onClose();
    route(path);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && found.length > 0) {
      event.preventDefault();
      setChosen((chosen + step + found.length) % found.length);
    }
    const target = found[chosen];
    if (event.key === 'Enter' && target) {
      event.preventDefault();
      open(target.path);
    }
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-label="Page or site"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found[chosen] ? `${id}-${chosen}` : undefined}
        placeholder="Page or site"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="results" id={`${id}-list`} role="listbox" aria-label="Results">
        {found.map(({ title, detail, path }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox handles the keys.
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the combobox.
          <div
            key={path}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => open(path)}
          >
            {title} <span class="dim">{detail}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="dim">Nothing has this name.</p>}
    </Dialog>
  );
}
