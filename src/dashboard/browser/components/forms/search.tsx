import { useId, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../../api.js';
import type { Hits } from '../../find-hits.js';
import { useData } from '../../hooks/use-data.js';
import { useSettled } from '../../hooks/use-settled.js';
import { findDestinations } from '../../navigation.js';
import { mayOperateAll, settingsOf, useSession } from '../../session.js';
import { connectedNames } from '../../views/connection-view.js';
import { Dialog } from './dialog.js';

/** Goes to a page, a site or a platform by its name, or to a conversion by what is known of it. */
export function Search({ site, onClose }: { site: string | undefined; onClose: () => void }) {
  const { sites, user, isWriter } = useSession();
  const { route } = useLocation();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const settled = useSettled(text.trim());
  const looked = useData(`find ${site} ${settled}`, async (): Promise<Hits> => {
    if (site === undefined || settled === '') return { hits: [] };
    const { findHits } = await import('../../find-hits.js');
    return findHits(site, settled, isWriter);
  });
  const connections = useData(`connections to find ${site}`, async () =>
    site === undefined
      ? []
      : connectedNames((await api.GET('/api/v1/sites/{site}/connections', { path: { site } })).items),
  );
  const isLooking = settled !== text.trim() || (looked.data === undefined && looked.problem === undefined);
  const pages = findDestinations(text, {
    site,
    connections: connections.data ?? [],
    sites: sites.map(({ host }) => host),
    settings: settingsOf(user),
    mayAddSites: mayOperateAll(user),
  });
  // Conversions first: what was typed is exactly what they have.
  const found = [...(isLooking ? [] : (looked.data?.hits ?? [])), ...pages];
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
        aria-label="Order, conversion, email, phone, click id, platform or page"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found[chosen] ? `${id}-${chosen}` : undefined}
        placeholder="Order, email, phone, click id, platform, page …"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="results" id={`${id}-list`} role="listbox" aria-label="Results">
        {found.map(({ kind, title, detail, path }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox handles the keys.
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the combobox.
          <div
            key={path}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => open(path)}
          >
            {title} <span class="dim">{detail}</span> <span class="kind">{kind}</span>
          </div>
        ))}
      </div>
      <div role="status" class="dim">
        {text !== '' && isLooking && 'Looking for conversions …'}
        {!isLooking && (looked.problem?.title ?? looked.data?.note ?? (found.length === 0 && 'Nothing found.'))}
      </div>
    </Dialog>
  );
}
