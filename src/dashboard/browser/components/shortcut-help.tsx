import { SITE_PAGES } from '../navigation.js';
import { Dialog } from './forms/dialog.js';

export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const keys = [
    ['/', 'Search'],
    ['?', 'This list'],
    ['j', 'Next row'],
    ['k', 'Previous row'],
    ['Enter', 'Open the row'],
    ...SITE_PAGES.map(({ key, title }) => [`g ${key}`, title]),
    ['g ,', 'Settings'],
  ] as const;
  return (
    <Dialog title="Keys" closeLabel="Close" onClose={onClose}>
      <dl class="keys">
        {keys.map(([key, title]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
